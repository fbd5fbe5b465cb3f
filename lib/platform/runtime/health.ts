import { once } from "node:events";
import { request } from "node:http";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { maxHeaderBytes, maxInterim } from "../../kernel/answers-of-apps.ts";
import { systemTimer } from "../../kernel/clock.ts";
import { monotonicNow } from "../../kernel/node/system.ts";
import { pause } from "./pause.ts";
import type { Run } from "./task.ts";

const arrival_ms = 1_000;

/** Whether connections arrive here. A rule that a removed container left may lead those to this port elsewhere. */
function isReached(server: Server, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const client = connect({ port, host: "127.0.0.1" });
    const answer = (is: boolean) => {
      cancel();
      client.destroy();
      resolve(is);
    };
    const cancel = systemTimer(arrival_ms, () => answer(false));
    client.on("error", () => answer(false));
    server.on("connection", (socket) => {
      // After an ordinary close, some programs could not take the port for a minute.
      socket.resetAndDestroy();
      answer(true);
    });
  });
}

/** A free port of 127.0.0.1. If another program takes it first, the app starts again with another one. */
export async function freePort(tries = 3): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  // A port that is not reached stays taken while another is looked for.
  const found = tries === 1 || (await isReached(server, port)) ? port : await freePort(tries - 1);
  server.close();
  await once(server, "close");
  return found;
}

const probe_ms = 5_000;
const firstPause_ms = 15;
const maxPause_ms = 500;

interface Place {
  readonly port: number;
  /** The URL at which people reach the app; null if there is none. */
  readonly url: string | null;
  /** The path in `svc.json`, which must answer below 400. Without it, `/` must answer below 500. */
  readonly health: string | null;
  /** The reason to report if a connection is refused or closed at once. */
  readonly refusal: string;
}

const pathOf = ({ health }: Pick<Place, "health">) => health ?? "/";

/** The headers of a visitor's request as the proxy passes it on: many apps answer only at their own hosts. */
function visitorHeaders({ port, url }: Place) {
  const { host, protocol, port: visited } = new URL(url ?? `http://localhost:${port}`);
  return {
    host,
    "user-agent": "svc-server health check",
    "x-forwarded-for": "127.0.0.1",
    "x-forwarded-host": host,
    "x-forwarded-proto": protocol.slice(0, -1),
    "x-forwarded-port": visited || (protocol === "https:" ? "443" : "80"),
    "x-real-ip": "127.0.0.1",
    connection: "close",
  };
}

function probe(place: Place, within_ms: number): Promise<number | string | undefined> {
  const { port, refusal } = place;
  const path = pathOf(place);
  return new Promise((resolve) => {
    const headers = visitorHeaders(place);
    const to = { host: "127.0.0.1", port, path, headers, agent: false, maxHeaderSize: maxHeaderBytes };
    const asked = request(to, (response) => {
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
      if (++interim > maxInterim) asked.destroy(new Error(`GET ${path} got only interim answers`));
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
 * Waits until the app is healthy; redirects are not followed. Returns the status of its answer, or the reason.
 * `hasEnded` is asked after each answer, because another program may answer on the port.
 */
export async function waitUntilHealthy(
  { timeout_ms, ...place }: Place & { readonly timeout_ms: number },
  hasEnded: () => string | undefined,
  { log, signal }: Pick<Run, "log" | "signal">,
): Promise<number | string> {
  const begun = monotonicNow();
  const end = begun + timeout_ms;
  const { health, port } = place;
  const path = pathOf(place);
  const [below, help] =
    health === null
      ? [500, "; it must answer below 500; health in svc.json can name another path"]
      : [400, "; health in svc.json must name a path that answers below 400"];
  let pause_ms = firstPause_ms;
  let notice_ms = timeout_ms * firstNotice;
  const silent = `GET ${path} got no answer`;
  let last = silent;
  let advice = "";
  for (;;) {
    const asked = monotonicNow();
    const answer = await probe(place, Math.max(1, end - asked));
    const now = monotonicNow();
    const ended = hasEnded();
    if (ended !== undefined) return ended;
    if (signal.aborted) return "it was ended";
    if (typeof answer === "number" && answer < below) return answer;
    // The last request may have a shorter timeout. Then its failure proves nothing.
    if (answer !== undefined || now - asked > maxPause_ms) {
      last = typeof answer === "number" ? `GET ${path} answered ${answer}` : (answer ?? silent);
      advice = typeof answer === "number" ? help : "";
    }
    if (now >= end) return `${last}, until deployments.healthTimeout (${timeout_ms / 1000} s) had passed${advice}`;
    if (now - begun >= notice_ms) {
      const place_url = `http://127.0.0.1:${port}${path}`;
      const left_s = Math.ceil((end - now) / 1000);
      log({ level: "info", message: `The health check waits for ${place_url}, ${left_s} s more at most: ${last}` });
      notice_ms = 3 * (now - begun);
    }
    await pause(Math.min(pause_ms, maxPause_ms), signal);
    // Pauses grow by 15 %, so an app is noticed late by at most a seventh of its start time.
    pause_ms *= 1.15;
  }
}
