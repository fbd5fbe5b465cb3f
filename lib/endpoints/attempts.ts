import type { Outbound, Sent } from "../drivers/outbound/outbound.ts";
import type { Feed } from "../events/change-feed.ts";
import type { Queue } from "../jobs/queue.ts";
import { type Clock, isoOf } from "../kernel/clock.ts";
import type { Random } from "../kernel/random.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import { version } from "../kernel/version.ts";
import type { Store } from "../store/store.ts";
import type { Row } from "../store/tables.ts";
import { delayAfter } from "./backoff.ts";
import { headersOf, type Kind, type Settings } from "./endpoint-kind.ts";
import { deliveriesRepository, endpointsRepository } from "./repository.ts";
import { redactor } from "./response-redaction.ts";
import type { Endpoints } from "./service.ts";
import { standardHeaders } from "./signature.ts";

type Delivery = Row<"deliveries">;
type Endpoint = Row<"endpoints">;

interface Ports {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly queue: Queue;
  readonly feed: Feed;
  readonly endpoints: Endpoints;
  readonly kinds: Readonly<Partial<Record<Endpoint["type"], Kind>>>;
  readonly outbound: Pick<Outbound, "send">;
  /** Up to how much longer a delay of the ladder may be, 0 to 0.1. */
  readonly jitter: number;
  /** Whether signed deliveries carry the headers of Standard Webhooks too. */
  readonly standardWebhooks: boolean;
  /** Whether a receiver's `Retry-After` may lengthen a delay of the ladder. */
  readonly retryAfter: boolean;
}

/** A delivery whose try is counted, and how its endpoint is spoken to at this moment. */
export interface Counted {
  readonly delivery: Delivery;
  readonly kind: Kind;
  readonly settings: Settings;
  /** Leaves the endpoint's secrets out of an answer. */
  readonly redact: (response: string | null) => string | null;
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
  const { store, feed, clock, random, queue, endpoints, kinds, outbound, jitter, standardWebhooks, retryAfter } = ports;
  const rows = store.using(deliveriesRepository);
  const targets = store.using(endpointsRepository);
  const agent = `svc-server/${version()}`;

  const speaking = async (tx: Tx, endpoint_id: string) => {
    const endpoint = await targets(tx).forJob({ id: endpoint_id });
    const kind = endpoint && kinds[endpoint.type];
    if (!endpoint || !kind) return undefined;
    const settings = endpoints.settingsOf(endpoint);
    return { kind, settings, redact: redactor(settings.secrets) };
  };

  const tell = (tx: Tx, { organization_id, id }: Delivery, status: "succeeded" | "abandoned") =>
    feed.tell(tx, { kind: "delivery", organization_id, id, status });

  const succeed = async (tx: Tx, delivery: Delivery) => {
    if ((await rows(tx).succeed(delivery)) === 0) return false;
    tell(tx, delivery, "succeeded");
    return true;
  };

  /** Within one instant of a standing clock the order of the deliveries tells which came first. */
  const succeededSince = async (tx: Tx, { succeeded_at }: Endpoint, { id, endpoint_id, created_at }: Delivery) =>
    succeeded_at !== null &&
    (succeeded_at > created_at ||
      (succeeded_at === created_at && (await rows(tx).succeededAfter({ endpoint_id, id })) !== undefined));

  /** After the sixth failure: the endpoint is turned off, "unless it had a success since that event happened". */
  const abandon = async (tx: Tx, delivery: Delivery) => {
    if ((await rows(tx).fail({ ...delivery, status: "abandoned", next_attempt_at: null })) === 0) return false;
    tell(tx, delivery, "abandoned");
    const endpoint = await targets(tx).forJob({ id: delivery.endpoint_id });
    if (!endpoint || endpoint.status === "inactive" || (await succeededSince(tx, endpoint, delivery))) return true;
    await endpoints.deactivate(tx, endpoint);
    return true;
  };

  /** The next try of the ladder, or none; false where the ladder has moved on meanwhile. */
  const fail = async (tx: Tx, { delivery, sent }: Made) => {
    const asked_ms = retryAfter ? sent.retry_after_ms : undefined;
    const late = clock.mode === "manual" ? 0 : random.fraction() * jitter;
    const delay = delayAfter(delivery.rung, { late, asked_ms });
    if (delay === undefined) return abandon(tx, delivery);
    const next_attempt_at = isoOf(clock.now() + delay);
    return (await rows(tx).fail({ ...delivery, status: "pending", next_attempt_at })) > 0;
  };

  const note = async (tx: Tx, { delivery, at, sent }: Made) => {
    const { id: delivery_id, organization_id, endpoint_id, event, tries: number } = delivery;
    const { status, duration_ms, error, response } = sent;
    await rows(tx).insertAttempt({ delivery_id, number, organization_id, at, status, duration_ms, error, response });
    const result = { number, at, status, error, duration_ms };
    feed.tell(tx, { kind: "try", organization_id, delivery_id, endpoint_id, event, ...result });
  };

  /** What is not over yet is no longer due, and is settled by a job at its end. */
  const leaveOpen = (tx: Tx, { delivery: { id, tries }, at, sent }: Made, rung: number | null) => {
    const { error, duration_ms, open_ms } = sent;
    return queue.add(tx, "deliveries.end", { delivery_id: id, number: tries, rung, at, error, duration_ms }, open_ms);
  };

  return {
    /** Counts tries of those that are still due. */
    async count(tx: Tx, endpoint_id: string, due: readonly Delivery[]): Promise<Counted[]> {
      const counted: Delivery[] = [];
      for (const delivery of due) {
        const { id, organization_id, tries, rung } = delivery;
        const [number, next] = [tries + 1, rung + 1];
        if ((await rows(tx).count({ id, organization_id, tries, rung, number, next })) > 0)
          counted.push({ ...delivery, tries: number, rung: next });
      }
      const spoken = counted.length > 0 ? await speaking(tx, endpoint_id) : undefined;
      return spoken ? counted.map((delivery) => ({ delivery, ...spoken })) : [];
    },

    /** The sixth try was counted, and its process ended before the answer. */
    async giveUp(tx: Tx, { id }: Delivery) {
      const delivery = await rows(tx).forJob({ id });
      if (delivery) await abandon(tx, delivery);
    },

    /** Counts one more try, outside the ladder. */
    async countOne(tx: Tx, id: string): Promise<Counted | undefined> {
      const delivery = await rows(tx).countOutside({ id });
      const spoken = delivery && (await speaking(tx, delivery.endpoint_id));
      return spoken && { ...spoken, delivery };
    },

    async send({ delivery, kind, settings, redact }: Counted, signal: AbortSignal): Promise<Made> {
      const at = clock.iso();
      const { url, headers: own } = kind.address(delivery, settings);
      const { secret } = settings.secrets;
      const signed =
        standardWebhooks && secret !== undefined
          ? { ...own, ...standardHeaders(secret, delivery.id, at, delivery.body) }
          : own;
      const headers = headersOf(delivery, agent, signed);
      const sent = await outbound.send({ url, headers, body: delivery.body, signal });
      return { delivery, at, sent: { ...sent, response: redact(sent.response) } };
    },

    /** What becomes of deliveries of one endpoint after a try of their ladder. */
    async settle(tx: Tx, landed: readonly Made[]) {
      let succeeded = false;
      for (const made of landed) {
        const { delivery } = made;
        if (made.sent.open_ms !== undefined) {
          await rows(tx).fail({ ...delivery, status: "pending", next_attempt_at: null });
          await leaveOpen(tx, made, delivery.rung);
          continue;
        }
        const moved = arrived(made.sent) ? await succeed(tx, delivery) : await fail(tx, made);
        if (moved || (await rows(tx).forJob(delivery))) await note(tx, made);
        if (!moved || !arrived(made.sent) || succeeded) continue;
        succeeded = true;
        await targets(tx).succeeded({ ...delivery, id: delivery.endpoint_id, at: clock.iso() });
      }
    },

    /** A try outside the ladder can succeed; its failure turns nothing off and moves nothing. */
    async settleOutside(tx: Tx, made: Made) {
      const { delivery } = made;
      if (made.sent.open_ms !== undefined) return leaveOpen(tx, made, null);
      const known = arrived(made.sent) ? await succeed(tx, delivery) : await rows(tx).forJob(delivery);
      if (!known) return;
      await note(tx, made);
      if (arrived(made.sent)) await targets(tx).succeeded({ ...delivery, id: delivery.endpoint_id, at: clock.iso() });
    },
  };
}
