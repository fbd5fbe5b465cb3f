import assert from "node:assert/strict";
import { bearer } from "./headers.ts";
import type { World } from "./test-service.ts";
import { keyOf } from "./test-service.ts";

/** One Server-Sent Event. */
export interface Sent {
  readonly id: string | undefined;
  readonly event: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test may assert any field of a response
  readonly data: any;
}

/** Parses Server-Sent Events as in the standard, as far as this service uses it. */
export function parse(text: string): Sent[] {
  return text
    .split("\n\n")
    .map((block) => block.split("\n").filter((line) => line !== "" && !line.startsWith(":")))
    .filter((lines) => lines.length > 0)
    .map((lines) => {
      const field = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      return { id: field("id"), event: field("event") ?? "message", data: JSON.parse(field("data") ?? "null") };
    });
}

/** Follows the log of a deployment, and reads it as it arrives. */
export const follow = (world: World, id: string, headers?: Record<string, string>) =>
  followAt(world, `/v1/deployments/${id}/logs?follow=true`, headers);

/** Follows a log and reads it as it arrives. */
export async function followAt(
  { service }: World,
  path: string,
  headers: Record<string, string> = bearer(keyOf("owner")),
) {
  const control = new AbortController();
  const response = await service.fetch(path, { headers, signal: control.signal });
  assert.equal(response.status, 200);
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let text = "";
  return {
    response,
    control,
    /** The events so far. */
    seen: () => parse(text),
    raw: () => text,
    /** Reads until this many events have arrived, or to the end. */
    async take(count = Number.POSITIVE_INFINITY): Promise<Sent[]> {
      while (parse(text.slice(0, text.lastIndexOf("\n\n") + 2)).length < count) {
        const { value, done } = await reader.read();
        if (done) break;
        text += decoder.decode(value, { stream: true });
      }
      return parse(text);
    },
    cancel: () => reader.cancel(),
  };
}
