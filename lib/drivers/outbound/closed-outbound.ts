import type { Outbound } from "./outbound.ts";
import { httpsTarget } from "./target.ts";

const error = "the option strict allows no request to leave the process; pass a transport or your own driver";

const nothing = { status: null, response: null, duration_ms: 0 };

/** The network of a muted fork: every delivery counts as received, and backends are not called. */
export const mutedOutbound: Outbound = {
  send: async () => ({ ...nothing, status: 200, error: null, response: "" }),
  callBackend: async () => ({
    status: null,
    error: "this fork is muted",
    bytes: Buffer.alloc(0),
    retry_after_ms: undefined,
  }),
  checkUrl: async (text) => {
    const target = httpsTarget(text);
    return "problem" in target ? target.problem : undefined;
  },
  async close() {},
};

/** The network with the option `strict`: no lookups and no requests. The inbox receives every delivery. */
export const closedOutbound: Outbound = {
  send: async () => ({ ...nothing, error: null, isOutside: true }),
  callBackend: async () => ({ status: null, error, bytes: Buffer.alloc(0), retry_after_ms: undefined }),
  async checkUrl(text) {
    const target = httpsTarget(text);
    return "problem" in target ? target.problem : undefined;
  },
  async close() {},
};

/** The same, but `near` gets what a tester forwards to a receiver on this machine. */
export const closedBut = (near: Pick<Outbound, "send" | "close">): Outbound => ({
  ...closedOutbound,
  send: (request) => (request.isForwarded ? near : closedOutbound).send(request),
  close: () => near.close(),
});
