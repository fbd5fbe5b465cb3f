import type { Outbound, Sent } from "../drivers/outbound.ts";
import { type Clock, isoOf } from "../kernel/clock.ts";
import type { Random } from "../kernel/random.ts";
import type { Tx } from "../kernel/unit.ts";
import { version } from "../kernel/version.ts";
import type { Store } from "../store/store.ts";
import type { Row } from "../store/tables.ts";
import type { Endpoints } from "./endpoints.ts";
import { headersOf, type Kind, type Settings } from "./kind.ts";
import { delayAfter, rungs } from "./ladder.ts";
import { withoutSecrets } from "./redact.ts";
import { deliveriesRepository, endpointsRepository } from "./repository.ts";
import { standardHeaders } from "./signature.ts";

type Delivery = Row<"deliveries">;
type Endpoint = Row<"endpoints">;

interface Ports {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly endpoints: Endpoints;
  readonly kinds: Readonly<Partial<Record<Endpoint["type"], Kind>>>;
  readonly outbound: Pick<Outbound, "send">;
  /** Up to how much longer a delay of the ladder may be, 0 to 0.1. */
  readonly jitter: number;
  /** Whether signed deliveries carry the headers of Standard Webhooks too. */
  readonly standardWebhooks: boolean;
}

/** A delivery whose try is counted, and how its endpoint is spoken to at this moment. */
export interface Counted {
  readonly delivery: Delivery;
  readonly kind: Kind;
  readonly settings: Settings;
}

/** A try that was made and is not settled yet. */
export interface Made {
  readonly delivery: Delivery;
  readonly at: string;
  readonly sent: Sent;
}

/** "The receiving endpoint acknowledges with any 2xx status." */
const arrived = ({ status }: Sent) => status !== null && status >= 200 && status <= 299;

export type Tries = ReturnType<typeof createTries>;

/** One try of a delivery: counted before it is made, so that a crash cannot give a seventh, then sent, then settled. */
export function createTries(ports: Ports) {
  const { store, clock, random, endpoints, kinds, outbound, jitter, standardWebhooks } = ports;
  const rows = store.using(deliveriesRepository);
  const targets = store.using(endpointsRepository);
  const agent = `svc-server/${version()}`;

  const speaking = async (tx: Tx, endpoint_id: string) => {
    const endpoint = await targets(tx).forJob({ id: endpoint_id });
    const kind = endpoint && kinds[endpoint.type];
    return endpoint && kind && { kind, settings: endpoints.settingsOf(endpoint) };
  };

  /** After the sixth failure: the endpoint is turned off, "unless it had a success since that event happened". */
  const abandon = async (tx: Tx, delivery: Delivery) => {
    await rows(tx).settle({ ...delivery, status: "abandoned", next_attempt_at: null });
    const endpoint = await targets(tx).forJob({ id: delivery.endpoint_id });
    if (!endpoint || (endpoint.succeeded_at ?? "") >= delivery.created_at || endpoint.status === "inactive") return;
    await targets(tx).update({ ...endpoint, status: "inactive" });
    await rows(tx).skipPending({ ...endpoint, endpoint_id: endpoint.id });
  };

  const note = async (tx: Tx, { delivery: { id, organization_id, tries }, at, sent }: Made) => {
    const { status, duration_ms, error, response } = sent;
    const kept = { at, status, duration_ms, error, response };
    await rows(tx).insertAttempt({ delivery_id: id, number: tries, organization_id, ...kept });
  };

  const succeed = async (tx: Tx, { delivery }: Made) => {
    await rows(tx).settle({ ...delivery, status: "succeeded", next_attempt_at: null });
    await targets(tx).succeeded({
      ...{ organization_id: delivery.organization_id, id: delivery.endpoint_id, at: clock.iso() },
    });
  };

  return {
    /** Counts tries of what is due for an endpoint, `room` at most and none of those that are `busy`. */
    async countDue(tx: Tx, endpoint_id: string, room: number, busy: ReadonlyMap<string, unknown>): Promise<Counted[]> {
      const due = room > 0 ? await rows(tx).due({ endpoint_id, now: clock.iso() }) : [];
      const counted: Delivery[] = [];
      for (const delivery of due.filter(({ id }) => !busy.has(id))) {
        if (counted.length === room) break;
        // The sixth try was counted, and its process ended before the answer.
        if (delivery.rung >= rungs) await abandon(tx, delivery);
        else counted.push(...(await rows(tx).count({ ...delivery, next: delivery.rung + 1 })));
      }
      const spoken = counted.length > 0 ? await speaking(tx, endpoint_id) : undefined;
      return spoken ? counted.map((delivery) => ({ ...spoken, delivery })) : [];
    },

    /** Counts one more try, outside the ladder. */
    async countOne(tx: Tx, id: string): Promise<Counted | undefined> {
      const delivery = await rows(tx).countOutside({ id });
      const spoken = delivery && (await speaking(tx, delivery.endpoint_id));
      return spoken && { ...spoken, delivery };
    },

    async send({ delivery, kind, settings }: Counted, signal: AbortSignal): Promise<Made> {
      const at = clock.iso();
      const { url, headers } = kind.address(delivery, settings);
      const { secret } = settings.secrets;
      const standard =
        standardWebhooks && secret !== undefined ? standardHeaders(secret, delivery.id, at, delivery.body) : {};
      const own = { ...standard, "user-agent": agent, ...headersOf(delivery) };
      const sent = await outbound.send({ url, headers: { ...headers, ...own }, body: delivery.body, signal });
      return { delivery, at, sent: { ...sent, response: withoutSecrets(sent.response, settings.secrets) } };
    },

    /** What becomes of a delivery after a try of its ladder. */
    async settle(tx: Tx, made: Made) {
      const now = await rows(tx).forJob(made.delivery);
      if (!now) return;
      await note(tx, made);
      if (arrived(made.sent)) return succeed(tx, made);
      if (now.status !== "pending" || now.rung !== made.delivery.rung) return;
      const delay = delayAfter(now.rung, random.fraction() * jitter);
      if (delay === undefined) await abandon(tx, now);
      else await rows(tx).settle({ ...now, next_attempt_at: isoOf(clock.now() + delay) });
    },

    /** A try outside the ladder can succeed; its failure turns nothing off and moves nothing. */
    async settleOutside(tx: Tx, made: Made) {
      const now = await rows(tx).forJob(made.delivery);
      if (!now) return;
      await note(tx, made);
      if (arrived(made.sent)) await succeed(tx, { ...made, delivery: now });
    },
  };
}
