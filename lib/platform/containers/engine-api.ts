import { type IncomingMessage, request } from "node:http";
import type { Readable } from "node:stream";
import * as v from "valibot";
import { systemTimer } from "../../kernel/clock.ts";
import { parseJson } from "../../kernel/text/json.ts";
import { Failure } from "../runtime/failure.ts";
import { onAbort } from "../runtime/pause.ts";

/** A call that the engine refused, or that did not reach the engine (then without a status). */
export class EngineError extends Failure {
  readonly status: number | undefined;

  constructor(message: string, status?: number) {
    super(message);
    this.status = status;
  }
}

export interface EngineCall {
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON, a stream unchanged. A stream is destroyed when the call ends. */
  readonly body?: object;
  readonly signal?: AbortSignal;
  /** How long to wait for the response headers; 30 s by default. */
  readonly timeout?: string | null;
}

type Method = "GET" | "POST" | "DELETE";

const maxAnswer = 16 * 1024 * 1024;
const problem = v.object({ message: v.string() });
const isStream = (body: object): body is Readable => "pipe" in body;

/** The Docker Engine API over a unix socket. Podman supports it too. */
export type EngineApi = ReturnType<typeof createEngineApi>;

export function createEngineApi(socketPath: string, version: string) {
  /** Sends a request. Resolves with the response headers if the status is below 400. */
  const open = async (method: Method, path: string, call: EngineCall = {}): Promise<IncomingMessage> => {
    const response = await send(socketPath, method, `${version}${path}${queryOf(call)}`, call);
    const { statusCode: status = 0 } = response;
    if (status < 400) return response;
    const text = await textOf(response);
    const parsed = v.safeParse(problem, parseJson(text));
    throw new EngineError(parsed.success ? parsed.output.message : `the engine answered ${status}`, status);
  };
  const tell = async (method: Method, path: string, call?: EngineCall): Promise<void> =>
    void (await open(method, path, call)).resume();
  return {
    open,
    tell,

    async call<S extends v.GenericSchema>(
      schema: S,
      method: Method,
      path: string,
      call?: EngineCall,
    ): Promise<v.InferOutput<S>> {
      const response = await open(method, path, call);
      const parsed = v.safeParse(schema, parseJson(await textOf(response)));
      if (parsed.success) return parsed.output;
      throw new EngineError(`the engine's answer to ${method} ${path} is wrong: ${parsed.issues[0].message}`);
    },

    /** Sends a request whose effect may already exist: 304, 404 and 409 are not errors. */
    tellIfThere: (method: Method, path: string, call?: EngineCall) =>
      tell(method, path, call).catch((error) => {
        if (!(error instanceof EngineError) || (error.status !== 404 && error.status !== 409)) throw error;
      }),
  };
}

const queryOf = ({ query }: EngineCall) => (query ? `?${new URLSearchParams(query)}` : "");

function send(socketPath: string, method: Method, path: string, call: EngineCall): Promise<IncomingMessage> {
  const { body, headers, signal, timeout = "30s" } = call;
  const stream = body && isStream(body) ? body : undefined;
  if (signal?.aborted) {
    stream?.destroy();
    return Promise.reject(new Failure("it was ended"));
  }
  return new Promise((resolve, reject) => {
    const type = body && { "content-type": stream ? "application/x-tar" : "application/json" };
    const asked = request({ socketPath, method, path, agent: false, headers: { host: "engine", ...type, ...headers } });
    const abort = () => asked.destroy(new Failure("it was ended"));
    const late = () => asked.destroy(new EngineError(`the engine did not answer within ${timeout}`));
    const cancel = timeout === null ? () => {} : systemTimer(timeout, late);
    const stopListening = signal && onAbort(signal, abort);
    asked.once("response", (response) => {
      cancel();
      // Readers see the error themselves. Without a reader, an aborted response must not crash the process.
      response.on("error", () => {});
      resolve(response);
    });
    asked.on("error", (error) => {
      cancel();
      reject(error instanceof Failure ? error : new EngineError(reasonOf(error, socketPath)));
    });
    asked.once("close", () => {
      stopListening?.();
      // The stream may hold files open.
      stream?.destroy();
    });
    if (stream) stream.on("error", (error) => asked.destroy(error)).pipe(asked);
    else asked.end(body && JSON.stringify(body));
  });
}

function reasonOf({ code, message }: NodeJS.ErrnoException, socketPath: string): string {
  if (code === "EACCES") return `this user may not use the engine at ${socketPath}; add it to the socket's group`;
  if (code === "ENOENT" || code === "ECONNREFUSED") return `the engine at ${socketPath} is not running`;
  return `the engine at ${socketPath} went away: ${message}`;
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxAnswer) throw new EngineError("the engine's answer is larger than 16 MiB");
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof Failure ? error : new EngineError(`the engine went away: ${(error as Error).message}`);
  }
  return Buffer.concat(chunks).toString();
}

const maxLine = 1024 * 1024;

/** The JSON lines of a pull or a build. Rejects if the response breaks off. */
export async function* jsonLines(response: IncomingMessage): AsyncGenerator<unknown> {
  let rest = "";
  try {
    for await (const chunk of response.setEncoding("utf8") as AsyncIterable<string>) {
      const parts = (rest + chunk).split("\n");
      rest = parts.pop() ?? "";
      if (rest.length > maxLine) throw new EngineError("the engine wrote a line of more than 1 MiB");
      for (const part of parts) if (part.trim() !== "") yield parseJson(part);
    }
  } catch (error) {
    throw error instanceof Failure ? error : new EngineError("the engine went away in the middle of its answer");
  }
  if (rest.trim() !== "") yield parseJson(rest);
}
