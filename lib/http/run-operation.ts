import { invalid, Problem } from "../kernel/errors.ts";
import { type Caller, execute, type Operation } from "../kernel/operation.ts";
import { Stream } from "../kernel/stream.ts";
import type { Answer, Writer } from "./answer.ts";
import type { Ports } from "./app.ts";
import { parseBody, readBody } from "./body.ts";
import { type Cancellation, cancellationOf } from "./cancellation.ts";
import { queryOf, type RequestContext } from "./request-context.ts";
import { eventHeaders, eventStream } from "./server-sent-events.ts";

const noBytes = Buffer.alloc(0);

/** Runs an operation for a caller who may, and writes its answer. */
export async function perform(
  ports: Ports,
  writer: Writer,
  exchange: RequestContext,
  operation: Operation,
  caller: Caller,
): Promise<Answer> {
  const { services, gate, closing, log } = ports;
  const takesBody = operation.method !== "GET" && operation.method !== "DELETE";
  const bytes = takesBody ? await readBody(exchange, ports.bodyLimit) : noBytes;
  let leaving: Cancellation | undefined;
  const leave = () => {
    leaving ??= cancellationOf(exchange, closing, (lost) => gate.watch(exchange, lost));
    return leaving;
  };
  const run = (by: Caller) => {
    const body = takesBody ? parseBody(bytes, operation.body !== undefined) : undefined;
    const { params } = exchange;
    const resume = exchange.header("last-event-id");
    const input = { params, query: queryOf(exchange), body, resume, signal: () => leave().signal };
    return execute(operation, services, input, by);
  };
  const name = operation.method === "POST" ? exchange.header("idempotency-key") : undefined;
  if (name !== undefined && !ports.idempotency.isName(name)) {
    parseBody(bytes, operation.body !== undefined);
    throw invalid("Idempotency-Key", "must have 1 to 255 characters");
  }
  if (name !== undefined && operation.needs !== "nothing")
    return await once(ports, writer, exchange, operation, caller, { name, bytes, run });

  let result: unknown;
  try {
    result = await run(caller);
    if (!(result instanceof Stream)) return await writer.answer(operation, result, exchange.id);
  } finally {
    if (!(result instanceof Stream)) leaving?.over();
  }
  const body = eventStream(result, operation.shape, counted(leave(), ports.meter.opened("sse")), log, exchange.id);
  return { status: 200, headers: eventHeaders, body, request_id: exchange.id };
}

/** Tells too that the stream has ended. */
const counted = ({ signal, over }: Cancellation, ended: () => void): Cancellation => ({
  signal,
  over() {
    ended();
    over();
  },
});

/** With an idempotency key: the answer is kept in the transaction of the work, and replayed where the key comes again. */
function once(
  { idempotency, store }: Ports,
  writer: Writer,
  exchange: RequestContext,
  operation: Operation,
  caller: Caller,
  { name, bytes, run }: { name: string; bytes: Buffer; run: (by: Caller) => Promise<unknown> },
): Promise<Answer> {
  const key = { api_key_id: caller.key_id, path: exchange.path, name };
  const only = caller.recheckRights ? { recheckRights: caller.recheckRights } : {};
  return idempotency.once(key, bytes, async (remember) => {
    let kept: Answer | undefined;
    const keep = async (tx: Parameters<typeof remember>[0], answer: Answer) => {
      await remember(tx, answer);
      kept = answer;
      return answer;
    };
    try {
      const result = await run({
        ...caller,
        storeReplay: async (tx, made) => void (await keep(tx, await writer.answer(operation, made, exchange.id))),
      });
      return (
        kept ??
        (await store.transaction(async (tx) => keep(tx, await writer.answer(operation, result, exchange.id)), only))
      );
    } catch (error) {
      if (!(error instanceof Problem) || (error.status !== 404 && error.status !== 409)) throw error;
      return store.transaction((tx) => keep(tx, writer.problem(error, exchange.id)), only);
    }
  });
}
