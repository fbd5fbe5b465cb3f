import type { Outbound } from "./outbound.ts";
import { httpsTarget } from "./target.ts";
import type { TextRecords } from "./text-records.ts";

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

/** In a muted fork, no name server is asked, so a domain stays pending. */
export const mutedTextRecords: TextRecords = async () => {
  throw new Error("this fork is muted");
};

const closed = "the option strict allows no request to leave the process";

/** The network with the option `strict`: no lookups and no requests. The inbox receives every delivery. */
export const closedOutbound: Outbound = {
  send: async () => ({ ...nothing, error: null, isOutside: true }),
  callBackend: refused(`${closed}; pass a transport or your own driver`),
  checkUrl,
  async close() {},
};

/** With the option `strict`, no name server is asked. */
export const closedTextRecords: TextRecords = async () => {
  throw new Error(`${closed}; set domains.verify to false`);
};

/** Like `closedOutbound`, but `near` sends what a tester forwards to a receiver on this machine. */
export const closedBut = (near: Pick<Outbound, "send" | "close">): Outbound => ({
  ...closedOutbound,
  send: (request) => (request.isForwarded ? near : closedOutbound).send(request),
  close: () => near.close(),
});
