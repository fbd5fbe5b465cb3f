import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { systemTimer } from "../kernel/clock.ts";
import { forward, forwardUpgrade, isRepeatable, type Result } from "./forward.ts";
import { framingFault, hasBody } from "./headers.ts";
import { type Backend, createTarget, type Target } from "./target.ts";

/** How long a request waits for an app that is starting again. */
const hold_ms = 5_000;
/** The pauses before a request is sent again that an app has not answered: a crash is noticed some time after its effect. */
const pauses_ms = [20, 100, 500];
const drain_ms = 30_000;

/** The host of a request: without port, in lower case, without a dot at its end. */
const hostOf = ({ headers }: IncomingMessage): string =>
  (headers.host ?? "")
    .toLowerCase()
    .replace(/:\d{1,5}$/, "")
    .replace(/\.$/, "");

const texts = {
  404: "No app is at this host\n",
  502: "The app ended the connection without an answer\n",
  503: "The app is down\n",
} as const;

const phrases = {
  400: "Bad Request",
  404: "Not Found",
  421: "Misdirected Request",
  502: "Bad Gateway",
  503: "Service Unavailable",
} as const;

interface Refusal {
  readonly status: keyof typeof phrases;
  readonly text: string;
}

export type AppsProxy = ReturnType<typeof createProxy>;

/** The reverse proxy of the apps: hosts lead to apps, and an app to the backend that serves it. */
export function createProxy({ behindProxy }: { readonly behindProxy: boolean }) {
  const apps = new Map<string, string>();
  const targets = new Map<string, Target>();
  let urlElsewhere = async (_host: string): Promise<string | undefined> => undefined;

  const targetOf = (request: IncomingMessage) => targets.get(apps.get(hostOf(request)) ?? "");

  const refusalOf = async (request: IncomingMessage, status: keyof typeof texts): Promise<Refusal> => {
    const url = status === 404 ? await urlElsewhere(hostOf(request)).catch(() => undefined) : undefined;
    return url === undefined
      ? { status, text: texts[status] }
      : { status: 421, text: `This app runs on another server: ${url}\n` };
  };

  const refuse = (response: ServerResponse, { status, text }: Refusal): void => {
    if (response.headersSent || response.destroyed) return void response.destroy();
    const retry = status === 503 ? { "retry-after": "2" } : {};
    response.writeHead(status, {
      ...{ "content-type": "text/plain; charset=utf-8", "content-length": Buffer.byteLength(text), ...retry },
      // The rest of a body that nobody reads would stand before the next request.
      ...(status !== 400 && isRepeatable(response.req) ? {} : { connection: "close" }),
    });
    response.end(text);
  };

  const refuseUpgrade = (socket: Duplex, { status, text }: Refusal): void => {
    const lines = [
      `HTTP/1.1 ${status} ${phrases[status]}`,
      "content-type: text/plain; charset=utf-8",
      `content-length: ${Buffer.byteLength(text)}`,
      "connection: close",
    ];
    socket.end(`${lines.join("\r\n")}\r\n\r\n${text}`);
  };

  /** Finds the target and sends, again where an app gave no answer; a status where nothing could be sent. */
  const deliver = async (
    request: IncomingMessage,
    send: (target: Target, port: number) => Promise<Result>,
    mayRepeat: boolean,
  ): Promise<keyof typeof texts | undefined> => {
    for (let number = 1; ; number++) {
      // Looked up each time: another release may be live meanwhile.
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
      // The app may have acted on it: nobody is asked to send it again.
      if (!mayRepeat) return 502;
      const pause_ms = pauses_ms[number - 1];
      if (pause_ms === undefined) return target.backend.port === undefined ? 503 : 502;
      await new Promise<void>((done) => void systemTimer(pause_ms, done));
    }
  };

  return {
    /** Where several servers run apps: what knows the URLs of those that run elsewhere, by host. */
    setElsewhere(find: (host: string) => Promise<string | undefined>): void {
      urlElsewhere = find;
    },

    /** Sets the hosts that lead to an app; an empty list takes the app off. */
    setHosts(app: string, hosts: readonly string[]): void {
      for (const [host, other] of apps) if (other === app) apps.delete(host);
      for (const host of hosts) apps.set(host, app);
    },

    /**
     * Lets this backend serve an app, from the next request on; undefined takes the app off. Resolves when the backend
     * before it has answered its requests.
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
      const send = (target: Target, port: number) =>
        forward(request, response, { port, agent: target.agent, behindProxy });
      const status = await deliver(request, send, isRepeatable(request));
      if (status !== undefined) refuse(response, await refusalOf(request, status));
    },

    async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
      // Node passes a body on as the first bytes of the other protocol.
      const fault = framingFault(request) ?? (hasBody(request) ? "An upgrade has no body" : undefined);
      if (fault !== undefined) return refuseUpgrade(socket, { status: 400, text: `${fault}\n` });
      const send = (target: Target, port: number) => {
        let closed = () => {};
        const opened = (end: () => void) => {
          closed = target.opened(end);
        };
        const upstream = { port, agent: target.agent, behindProxy };
        return forwardUpgrade(request, socket, head, upstream, opened).finally(() => closed());
      };
      const status = await deliver(request, send, true);
      if (status === undefined) return;
      refuseUpgrade(socket, await refusalOf(request, status));
    },
  };
}
