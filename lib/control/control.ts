import * as v from "valibot";
import { type Answer, createWriter } from "../http/answer.ts";
import { parseBody, readBody } from "../http/body.ts";
import type { Exchange } from "../http/exchange.ts";
import { isLoopbackHost } from "../http/hosts.ts";
import { acceptance, member } from "../invitations/schema.ts";
import type { InvitationsService } from "../invitations/service.ts";
import { check } from "../kernel/api.ts";
import { type Clock, instant } from "../kernel/clock.ts";
import { parseDuration } from "../kernel/duration.ts";
import { invalid, Problem } from "../kernel/errors.ts";
import { shaper } from "../kernel/shape.ts";
import type { MailsService } from "../mails/service.ts";

interface Ports {
  readonly clock: Clock;
  readonly advanceBy: (ms: number) => Promise<{ now: string; ran: number }>;
  readonly advanceTo: (at: number) => Promise<{ now: string; ran: number }>;
  readonly settle: () => Promise<{ now: string; ran: number }>;
  readonly mails: MailsService;
  readonly invitations: InvitationsService;
  readonly bodyLimit: number;
}

/** One call of the control interface: what it is given, and the record or list that it answers. */
type Call = (body: unknown) => Promise<object | readonly object[]>;

const prefix = "/_svc/";
const asMember = shaper(member);

const advance = v.object({
  by: v.optional(
    v.pipe(
      v.string("must be a string"),
      v.check((text) => parseDuration(text) !== undefined, 'must be a duration such as "2h" or "2h42m30s"'),
    ),
  ),
  to: v.optional(
    v.pipe(
      v.string("must be a string"),
      v.check((text) => instant(text) !== undefined, "must be an instant such as 2026-01-01T00:00:00Z"),
    ),
  ),
});

/**
 * The control interface of the mode `dev`: CONTRACT section 8. It has no key, so it answers on loopback alone, to a
 * loopback `Host`, and to no page of another origin.
 */
export function createControl({ clock, advanceBy, advanceTo, settle, mails, invitations, bodyLimit }: Ports) {
  const move = ({ by, to }: v.InferOutput<typeof advance>) => {
    if ((by === undefined) === (to === undefined)) throw invalid("by", 'must be given, or "to" instead, and not both');
    return to === undefined ? advanceBy(parseDuration(by ?? "") ?? 0) : advanceTo(instant(to) ?? 0);
  };

  const calls: Record<string, Record<string, Call>> = {
    clock: { GET: async () => ({ now: clock.iso(), mode: clock.mode }) },
    "clock/advance": {
      POST: (body) => move(check(advance, body ?? {})),
    },
    settle: { POST: () => settle() },
    mail: { GET: () => mails.all() },
    "invitations/accept": {
      POST: async (body) => asMember(await invitations.accept(check(acceptance, body ?? {}))),
    },
  };

  // Its shapes are its own, whatever envelope the interface has.
  const writer = createWriter({ envelope: "flat", now: clock.iso, base: "" });

  return async (exchange: Exchange): Promise<Answer | undefined> => {
    if (!exchange.path.startsWith(prefix) || !isLocal(exchange)) return undefined;
    refuseForeign(exchange);
    const path = calls[exchange.path.slice(prefix.length)];
    if (!path) return undefined;
    const call = path[exchange.method === "HEAD" ? "GET" : exchange.method];
    if (!call) {
      const allow = Object.keys(path)
        .map((method) => (method === "GET" ? "GET, HEAD" : method))
        .join(", ");
      throw new Problem("method_not_allowed", `this path takes ${allow}`, {
        headers: { allow },
      });
    }
    const body = exchange.method === "POST" ? parseBody(await readBody(exchange, bodyLimit), false) : undefined;
    const result = await call(body);
    return Array.isArray(result) ? writer.list(result, exchange.id) : writer.object(200, result, exchange.id);
  };
}

function isLocal({ socket, header }: Exchange): boolean {
  if (!socket) return true;
  const address = socket.socket.remoteAddress ?? "";
  return isLoopbackHost(header("host")) && /^(::ffff:)?127\.|^::1$/.test(address);
}

/** A browser sends `Origin` with what a page does: only pages of this very address may. */
function refuseForeign({ header }: Exchange): void {
  const origin = header("origin");
  if (origin === undefined) return;
  if (origin !== `http://${header("host")}`) {
    throw new Problem(
      "insufficient_role",
      "a page of another origin must not use the control interface; call it from a program",
    );
  }
}
