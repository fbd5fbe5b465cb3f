import { createSender } from "../lib/client/send.ts";
import { ClientProblem } from "../lib/client.ts";
import type { ControlCall } from "../lib/emulator/control/call.ts";
import { connectionOf, explainedError } from "./connection.ts";
import type { Given } from "./define-command.ts";

/** Advancing a clock by years may run many jobs. */
const patience_ms = 10 * 60_000;

/** Calls the control interface, such as `POST clock/advance`. Returns the record without `meta`. */
export type Control = <T>(call: `${ControlCall<never>["method"]} ${string}`, body?: object) => Promise<T>;

/** The service has no control interface, or none for this machine. */
export class NoControl extends Error {}

/**
 * The control interface of the service that the options or SVC_URL select. It needs no key. `timeout` is in
 * milliseconds.
 */
export function controlOf(args: Given, timeout = patience_ms): Control {
  const connection = connectionOf(args);
  const { url } = connection;
  // A retry could advance the clock twice.
  const sender = createSender({ baseUrl: `${new URL(url).origin}/_svc`, retries: 0, timeout });
  const send = (method: string, path: string, body?: object) =>
    sender.call({
      id: path,
      method,
      path: `/${path}`,
      params: {},
      query: new URLSearchParams(),
      ...(body && { body }),
    });
  return async <T>(call: string, body?: object) => {
    const [method = "", path = ""] = call.split(" ");
    try {
      const { meta: _, ...record } = (await send(method, path, body)) as Record<string, unknown>;
      return record as T;
    } catch (error) {
      if (error instanceof ClientProblem && error.status === 404 && !(await hasClock(send)))
        throw new NoControl(
          `${url} has no control interface for this machine (${error.message}); svc-server dev has one, on a loopback address and in the networks of --trust-network`,
        );
      throw explainedError(error, connection);
    }
  };
}

/** Whether the service has a control interface. Every control interface serves the clock. */
const hasClock = (send: (method: string, path: string) => Promise<unknown>) =>
  send("GET", "clock").then(
    () => true,
    () => false,
  );
