import * as v from "valibot";
import { retryAfter } from "../drivers/outbound/http-request.ts";
import type { Sent } from "../drivers/outbound/outbound.ts";
import { textLike, textOf } from "../kernel/validation.ts";

/** The name of an inbox: one label of a host name, without regard to case. */
export const inboxName = v.pipe(
  textLike(
    63,
    /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/i,
    "must have 1 to 63 letters, digits or hyphens, as a part of a host name",
  ),
  v.toLowerCase(),
);

const statusRule = "must be a status from 200 to 599";
const status = v.pipe(
  v.number(statusRule),
  v.integer(statusRule),
  v.minValue(200, statusRule),
  v.maxValue(599, statusRule),
);
const isTrue = v.literal(true, "must be true");
const forms = 'must be a status, {"status", "headers", "body"}, {"timeout": true} or {"drop": true}';

/**
 * What an inbox answers to one delivery: a status, or a whole answer; or that it takes the ten seconds of a try and
 * answers nothing; or that the connection breaks.
 */
export const answer = v.union(
  [
    status,
    v.strictObject({
      status,
      headers: v.optional(v.record(textOf(1, 256), textOf(0, 8192), "must be an object")),
      body: v.optional(textOf(0, 65_536)),
    }),
    v.strictObject({ timeout: isTrue }),
    v.strictObject({ drop: isTrue }),
  ],
  forms,
);
export type InboxAnswer = v.InferOutput<typeof answer>;

const most = 1000;
/** The answers that an inbox is to give, in this order. */
export const answers = v.pipe(
  v.array(answer, "must be a list"),
  v.maxLength(most, `must have at most ${most} answers`),
  v.readonly(),
);

/** How long a try waits for an answer, by the service's clock. SPEC: "no `2xx` arrives within 10 seconds". */
const patience_ms = 10_000;

/** What the sender sees of an answer. */
export function sentOf(given: InboxAnswer, now: number): Sent {
  const nothing = { status: null, response: null, duration_ms: 0 };
  if (typeof given === "number") return { ...nothing, status: given, error: null, response: "" };
  if ("drop" in given) return { ...nothing, error: "connection reset" };
  if ("timeout" in given)
    return { ...nothing, error: "timeout after 10 s", duration_ms: patience_ms, open_ms: patience_ms };
  const { status, headers, body = "" } = given;
  const retry_after = Object.entries(headers ?? {}).find(([name]) => name.toLowerCase() === "retry-after")?.[1];
  return { ...nothing, status, error: null, response: shown(body), retry_after_ms: retryAfter(retry_after, now) };
}

const mostShown = 1024;
const shown = (body: string) =>
  Buffer.from(body).subarray(0, mostShown).toString("utf8").replaceAll("\u0000", "\ufffd").toWellFormed();
