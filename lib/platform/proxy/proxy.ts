import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { Protection } from "../../features/environments/protection.ts";
import { maxHeaderBytes } from "../../kernel/answers-of-apps.ts";
import { createChunkJoiner } from "../../kernel/node/small-chunks.ts";
import type { PasswordHashes } from "../../kernel/secrets/password-hash.ts";
import { pause } from "../runtime/pause.ts";
import { type Backend, createTarget, type Target } from "./backend.ts";
import { forward, forwardUpgrade, isRepeatable, type Result } from "./forward.ts";
import { createGuard, type Guard } from "./guard.ts";
import { framingFault, hasBody } from "./headers.ts";

/** How long a request waits for an app that is restarting. */
const hold_ms = 5_000;
/** Pauses between tries if an app gave no response: a crash is noticed shortly after requests begin to fail. */
const pauses_ms = [20, 100, 500];
const drain_ms = 30_000;

/** The host of a request: in lower case, without port and trailing dot. */
const hostOf = ({ headers }: IncomingMessage): string =>
  (headers.host ?? "")
    .toLowerCase()
    .replace(/:\d{1,5}$/, "")
    .replace(/\.$/, "");

const texts = {
  401: "This app is protected: it needs a user and a password\n",
  404: "No app is at this host\n",
  502: "The app ended the connection without an answer\n",
  429: "Too many passwords are being checked: try again in a moment\n",
  503: "The app is down\n",
} as const;

/** Whether the same request may succeed after `retryAfter` seconds. */
const isPassing = (status: number) => status === 503 || status === 429;
const retryAfter = "2";

const challenge = 'Basic realm="protected", charset="UTF-8"';

const overflow = { status: 502, text: `The headers of the app's answer have more than ${maxHeaderBytes / 1024} KiB\n` };
/** Why a client got no response of an app. */
type Reason = keyof typeof texts | "overflow";

type Refusal = typeof overflow;

export type AppsProxy = ReturnType<typeof createProxy>;

/** The reverse proxy of the apps. Maps hosts to apps, and each app to the backend that serves it. */
export function createProxy({ behindProxy, passwords }: { behindProxy: boolean; passwords: PasswordHashes }) {
  const joinSmallChunks = createChunkJoiner();
  const apps = new Map<string, string>();
  const targets = new Map<string, Target>();
  const guards = new Map<string, Guard>();
  let urlElsewhere = async (_host: string): Promise<string | undefined> => undefined;

  const upstreamOf = ({ agent, single }: Target, port: number, guard: Guard | undefined) => {
    return { port, agent, single, behindProxy, hidesAuthorization: guard !== undefined, joinSmallChunks };
  };
  const targetOf = (request: IncomingMessage) => targets.get(apps.get(hostOf(request)) ?? "");

  const refusalOf = async (request: IncomingMessage, status: Reason): Promise<Refusal> => {
    if (status === "overflow") return overflow;
    const url = status === 404 ? await urlElsewhere(hostOf(request)).catch(() => undefined) : undefined;
    return url === undefined
      ? { status, text: texts[status] }
      : { status: 421, text: `This app runs on another server: ${url}\n` };
  };

  const refuse = (response: ServerResponse, { status, text }: Refusal): void => {
    if (response.headersSent || response.destroyed) return void response.destroy();
    const retry = isPassing(status) ? { "retry-after": retryAfter } : {};
    response.writeHead(status, {
      ...{ "content-type": "text/plain; charset=utf-8", "content-length": Buffer.byteLength(text), ...retry },
      ...(status === 401 && { "www-authenticate": challenge, "cache-control": "no-store" }),
      // Node would read the unread rest of a body as the next request.
      ...(status !== 400 && isRepeatable(response.req) ? {} : { connection: "close" }),
    });
    response.end(text);
  };

  const refuseUpgrade = (socket: Duplex, { status, text }: Refusal): void => {
    const lines = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      "content-type: text/plain; charset=utf-8",
      `content-length: ${Buffer.byteLength(text)}`,
      ...(status === 401 ? [`www-authenticate: ${challenge}`] : []),
      ...(isPassing(status) ? [`retry-after: ${retryAfter}`] : []),
      "connection: close",
    ];
    // `destroy`: the client may keep its side open. `resume`: unread bytes would hide that it has closed.
    socket.resume().end(`${lines.join("\r\n")}\r\n\r\n${text}`, () => socket.destroy());
  };

  const obstacleOf = async (guard: Guard, { headers }: IncomingMessage): Promise<401 | 429 | undefined> => {
    const admission = await guard.admits(headers.authorization);
    return admission === "passed" ? undefined : admission === "busy" ? 429 : 401;
  };
  const guardOf = (request: IncomingMessage) =>
    guards.size === 0 ? undefined : guards.get(apps.get(hostOf(request)) ?? "");

  /** Sends the request, again if the app gave no response. Returns the reason if the client got none. */
  const deliver = async (
    request: IncomingMessage,
    send: (target: Target, port: number) => Promise<Result>,
    mayRepeat: boolean,
  ): Promise<Reason | undefined> => {
    for (let number = 1; ; number++) {
      // Looked up at each try, because another release may be live by then.
      let target = targetOf(request);
      if (!target) return 404;
      if (target.backend.port === undefined) {
        await target.backend.up(hold_ms);
        target = targetOf(request);
      }
      const port = target?.backend.port;
      if (!target || port === undefined) return 503;
      const release = target.take();
      const result = await send(target, port).finally(release);
      if (result === "done") return undefined;
      if (result === "overflow") return "overflow";
      // The app may have acted on the request, so do not send it again.
      if (!mayRepeat) return 502;
      const pause_ms = pauses_ms[number - 1];
      if (pause_ms === undefined) return target.backend.port === undefined ? 503 : 502;
      await pause(pause_ms);
    }
  };

  return {
    /** For several servers: `find` returns the URL of an app that runs on another one, by host. */
    setElsewhere(find: (host: string) => Promise<string | undefined>): void {
      urlElsewhere = find;
    },

    /** Sets the hosts and the protection of an app. Without hosts, the app is removed. */
    setHosts(app: string, hosts: readonly string[], protection?: Protection): void {
      const before = guards.get(app)?.protection;
      if (!protection || hosts.length === 0) guards.delete(app);
      // If the protection is unchanged, keep its checked credentials.
      else if (before?.hash !== protection.hash || before.user !== protection.user)
        guards.set(app, createGuard(protection, passwords));
      for (const [host, other] of apps) if (other === app) apps.delete(host);
      for (const host of hosts) apps.set(host, app);
    },

    /**
     * Sends an app's requests to this backend from now on. Resolves when the previous one has finished its requests.
     */
    async route(app: string, backend: Backend | undefined): Promise<void> {
      const before = targets.get(app);
      if (backend) targets.set(app, createTarget(backend));
      else targets.delete(app);
      await before?.drain(drain_ms);
    },

    async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
      const fault = framingFault(request);
      if (fault !== undefined) return refuse(response, { status: 400, text: `${fault}\n` });
      const guard = guardOf(request);
      const obstacle = guard && (await obstacleOf(guard, request));
      if (obstacle !== undefined) return refuse(response, await refusalOf(request, obstacle));
      const send = (target: Target, port: number) => forward(request, response, upstreamOf(target, port, guard));
      const status = await deliver(request, send, isRepeatable(request));
      if (status !== undefined) refuse(response, await refusalOf(request, status));
    },

    async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
      // Node would pass a body on as the first bytes of the new protocol.
      const fault = framingFault(request) ?? (hasBody(request) ? "An upgrade has no body" : undefined);
      if (fault !== undefined) return refuseUpgrade(socket, { status: 400, text: `${fault}\n` });
      const guard = guardOf(request);
      const obstacle = guard && (await obstacleOf(guard, request));
      if (obstacle !== undefined) return refuseUpgrade(socket, await refusalOf(request, obstacle));
      const send = (target: Target, port: number) => {
        let closed = () => {};
        const opened = (end: () => void) => {
          closed = target.opened(end);
        };
        return forwardUpgrade(request, socket, head, upstreamOf(target, port, guard), opened).finally(() => closed());
      };
      const status = await deliver(request, send, true);
      if (status === undefined) return;
      refuseUpgrade(socket, await refusalOf(request, status));
    },
  };
}
