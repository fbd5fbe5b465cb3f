import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { systemTimer } from "../../kernel/clock.ts";
import { monotonicNow } from "../../kernel/system.ts";
import type { Run } from "./background-steps.ts";
import { pause } from "./pause.ts";

/**
 * Finds a free port of 127.0.0.1. If another program takes it first, the app exits and is started with another port.
 */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

const probe_ms = 5_000;
const firstPause_ms = 15;
const longestPause_ms = 500;
/** An app could send interim answers, such as 102, faster than they are read, and keep the server busy. */
const mostInterim = 100;

interface Place {
  readonly port: number;
  readonly path: string;
  /** The reason to report if a connection is refused or closed at once. */
  readonly refusal: string;
}

/** Sends one request. Resolves with the status or an error; undefined on a timeout. */
function probe({ port, path, refusal }: Place, within_ms: number): Promise<number | string | undefined> {
  return new Promise((resolve) => {
    const headers = { host: `localhost:${port}`, "user-agent": "svc-server health check", connection: "close" };
    const asked = request({ host: "127.0.0.1", port, path, headers, agent: false }, (response) => {
      response.resume();
      cancel();
      resolve(response.statusCode ?? 0);
      asked.destroy();
    });
    const cancel = systemTimer(Math.min(within_ms, probe_ms), () => {
      resolve(undefined);
      asked.destroy();
    });
    let interim = 0;
    asked.on("information", () => {
      if (++interim > mostInterim) asked.destroy(new Error(`GET ${path} got only interim answers`));
    });
    asked.on("error", (error: NodeJS.ErrnoException) => {
      cancel();
      resolve(error.code === "ECONNREFUSED" || error.code === "ECONNRESET" ? refusal : error.message);
    });
    asked.end();
  });
}

/** A long wait is logged after this fraction of the timeout, and each time the elapsed time has tripled. */
const firstNotice = 1 / 20;

/**
 * Waits until the app answers with a status below 400; redirects are not followed. Returns undefined then, otherwise
 * the reason. Checks `hasEnded` after each answer, so another program on the port cannot pass for an app that has
 * ended.
 */
export async function waitUntilHealthy(
  { timeout_ms, ...place }: Place & { readonly timeout_ms: number },
  hasEnded: () => string | undefined,
  { log, signal }: Pick<Run, "log" | "signal">,
): Promise<string | undefined> {
  const begun = monotonicNow();
  const end = begun + timeout_ms;
  const { path, port } = place;
  let pause_ms = firstPause_ms;
  let notice_ms = timeout_ms * firstNotice;
  const silent = `GET ${path} got no answer`;
  let last = silent;
  for (;;) {
    const asked = monotonicNow();
    const answer = await probe(place, Math.max(1, end - asked));
    const now = monotonicNow();
    const ended = hasEnded();
    if (ended !== undefined) return ended;
    if (signal.aborted) return "it was ended";
    if (typeof answer === "number" && answer < 400) return undefined;
    if (answer !== undefined) last = typeof answer === "number" ? `GET ${path} answered ${answer}` : answer;
    // The last request may have a shorter timeout, which then proves nothing.
    else if (now - asked > longestPause_ms) last = silent;
    if (now >= end) return `${last}, until deployments.healthTimeout (${timeout_ms / 1000} s) had passed`;
    if (now - begun >= notice_ms) {
      const place_url = `http://127.0.0.1:${port}${path}`;
      const left_s = Math.ceil((end - now) / 1000);
      log({ level: "info", message: `The health check waits for ${place_url}, ${left_s} s more at most: ${last}` });
      notice_ms = 3 * (now - begun);
    }
    await pause(Math.min(pause_ms, longestPause_ms), signal);
    // Pauses grow by 15 %, so an app is noticed late by at most a seventh of its start time.
    pause_ms *= 1.15;
  }
}
