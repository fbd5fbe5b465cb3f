import type { IncomingMessage } from "node:http";
import * as v from "valibot";
import { isLoopbackHost } from "../http/hosts.ts";
import type { Crowd } from "../http/limits/connections.ts";
import { type Listening, listen } from "../http/server.ts";
import { invalid } from "../kernel/errors.ts";
import { checkArgument, record, textOf, wholeNumber } from "../kernel/validation.ts";
import type { InstanceContext } from "./instance-context.ts";
import type { HostState } from "./wiring.ts";

/** The address and port to listen on. An empty host is refused, because it would mean every address of the machine. */
const listenAddress = record({
  port: v.optional(wholeNumber(0, 65_535), 0),
  host: v.optional(textOf(1, 253), "127.0.0.1"),
});
/** Refuses to listen beyond loopback without a public URL or `--behind-proxy` (schema/commands.md#running-the-service). */
const openToOthers = () =>
  invalid(
    "host",
    "can be reached from other machines; set the option publicUrl, behindProxy if a proxy is in front of it, or in dev trustNetwork",
  );
interface Host extends Pick<InstanceContext, "mayBeReached" | "hosts" | "listening" | "mount"> {
  readonly state: HostState;
}

/** The log of a port while it closes connections. A replaced state logs nothing, so the current state logs instead. */
export const crowdOf = (state: () => Pick<HostState, "foundation" | "wiring">): Crowd => ({
  get log() {
    return state().foundation.log;
  },
  dropped: () => state().wiring.meter.connectionDropped(),
});

export async function openPort(host: Host, at: object): Promise<Listening> {
  const address = checkArgument(listenAddress, "at", at, "{ port: 7400 }");
  if (!host.mayBeReached && !isLoopbackHost(address.host)) throw openToOthers();
  const app = () => host.state.wiring.app;
  // Links with the base path work at the port too.
  const unmounted = (request: IncomingMessage) => {
    request.url = host.mount.inner(request.url ?? "/");
    return request;
  };
  const server = await listen(
    {
      handle: (request, response) => app().handle(unmounted(request), response),
      upgrade: (request, socket, head) => app().upgrade(unmounted(request), socket, head),
      crowd: crowdOf(() => host.state),
    },
    address,
  );
  const { listening } = host;
  host.hosts.add(address.host);
  listening.push(server);
  const close: Listening["close"] = (grace) => {
    if (listening.includes(server)) listening.splice(listening.indexOf(server), 1);
    return server.close(grace);
  };
  return { ...server, close };
}
