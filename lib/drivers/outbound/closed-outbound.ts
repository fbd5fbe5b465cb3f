import type { Outbound } from "./outbound.ts";
import { httpsTarget } from "./target.ts";

const nothing = { status: null, response: null, duration_ms: 0 };

/** Without a network, a URL is checked by its form alone. */
const checkUrl = async (text: string) => {
  const target = httpsTarget(text);
  return "problem" in target ? target.problem : undefined;
};

const refused = (error: string) => async () => {
  return { status: null, error, bytes: Buffer.alloc(0), retry_after_ms: undefined };
};

/** The network of a muted fork: every delivery counts as received, and backends are not called. */
export const mutedOutbound: Outbound = {
  send: async () => ({ ...nothing, status: 200, error: null, response: "" }),
  callBackend: refused("this fork is muted"),
  checkUrl,
  async close() {},
};

/** The network with the option `strict`: no lookups and no requests. The inbox receives every delivery. */
export const closedOutbound: Outbound = {
  send: async () => ({ ...nothing, error: null, isOutside: true }),
  callBackend: refused("the option strict allows no request to leave the process; pass a transport or your own driver"),
  checkUrl,
  async close() {},
};

/** Like `closedOutbound`, but `near` sends what a tester forwards to a receiver on this machine. */
export const closedBut = (near: Pick<Outbound, "send" | "close">): Outbound => ({
  ...closedOutbound,
  send: (request) => (request.isForwarded ? near : closedOutbound).send(request),
  close: () => near.close(),
});
