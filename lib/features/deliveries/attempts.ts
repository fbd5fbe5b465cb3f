import type { Outbound, Sent } from "../../drivers/outbound/outbound.ts";
import type { WithRequestSlot } from "../../drivers/outbound/request-slots.ts";
import { isoOf } from "../../kernel/clock.ts";
import type { Lease } from "../../kernel/job.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { Row } from "../../store/tables.ts";
import type { Core } from "../core.ts";
import { retryDelay } from "./backoff.ts";
import type { DeliveryFormat, Settings } from "./delivery-format.ts";
import { type DeliveryRequest, requestOf, withoutSecrets } from "./delivery-request.ts";
import { endpointsRepository } from "./endpoint-repository.ts";
import { deliveriesRepository, keptAttempts } from "./repository.ts";
import { redactor } from "./response-redaction.ts";
import type { Endpoints } from "./service.ts";

type Delivery = Row<"deliveries">;
type Endpoint = Row<"endpoints">;

interface Ports extends Pick<Core, "store" | "clock" | "random" | "queue" | "feed"> {
  readonly endpoints: Endpoints;
  readonly formats: Readonly<Partial<Record<Endpoint["type"], DeliveryFormat>>>;
  readonly outbound: Pick<Outbound, "send">;
  /** Runs `work` when another outbound request may start, and tells `work` whether it had to wait. */
  readonly withRequestSlot: WithRequestSlot;
  /** The maximum random increase of a retry delay, as a share from 0 to 0.1. */
  readonly jitter: number;
  /** Whether signed deliveries also carry the Standard Webhooks headers. */
  readonly standardWebhooks: boolean;
  /** Whether a receiver's `Retry-After` may lengthen a retry delay. */
  readonly retryAfter: boolean;
}

/** A delivery whose attempt is counted, with its endpoint's current format and settings. */
export interface StartedAttempt {
  readonly delivery: Delivery;
  readonly format: DeliveryFormat;
  readonly settings: Settings;
  readonly redact: (response: string | null) => string | null;
}

/** An attempt that was sent but not yet settled. */
export interface AttemptResult {
  readonly delivery: Delivery;
  readonly at: string;
  readonly sent: Sent;
}

/** "The receiving endpoint acknowledges with any 2xx status." */
const isAcknowledged = ({ status }: Sent) => status !== null && status >= 200 && status <= 299;

export type Attempts = ReturnType<typeof createAttempts>;

/** An attempt is counted before it is sent, so that a crash cannot cause a seventh one. */
export function createAttempts(ports: Ports) {
  const { store, feed, clock, random, queue, endpoints, formats, outbound, withRequestSlot } = ports;
  const { jitter, standardWebhooks, retryAfter } = ports;
  const deliveries = store.using(deliveriesRepository);
  const endpointRows = store.using(endpointsRepository);

  const targetOf = async (tx: Tx | undefined, endpoint_id: string) => {
    const endpoint = await endpointRows(tx).forJob({ id: endpoint_id });
    const format = endpoint && formats[endpoint.type];
    if (!endpoint || !format) return undefined;
    const settings = endpoints.settingsOf(endpoint);
    return { format, settings, redact: redactor(settings.secrets) };
  };

  const publishEnd = (tx: Tx, { organization_id, id }: Delivery, status: "succeeded" | "abandoned") =>
    feed.publish(tx, { kind: "delivery", organization_id, id, status });

  const succeed = async (tx: Tx, delivery: Delivery) => {
    if ((await deliveries(tx).succeed(delivery)) === 0) return false;
    publishEnd(tx, delivery, "succeeded");
    return true;
  };

  /** Whether the endpoint had a success after this delivery. Equal times, as of a manual clock, compare identifiers. */
  const succeededSince = async (tx: Tx, { succeeded_at }: Endpoint, { id, endpoint_id, created_at }: Delivery) =>
    succeeded_at !== null &&
    (succeeded_at > created_at ||
      (succeeded_at === created_at && (await deliveries(tx).succeededAfter({ endpoint_id, id })) !== undefined));

  /** Abandons a delivery. Turns its endpoint off, "unless it had a success since that event happened". */
  const abandon = async (tx: Tx, delivery: Delivery) => {
    const failed = await deliveries(tx).fail({ ...delivery, status: "abandoned", next_attempt_at: null });
    if (failed === 0) return false;
    publishEnd(tx, delivery, "abandoned");
    const endpoint = await endpointRows(tx).forJob({ id: delivery.endpoint_id });
    if (!endpoint || endpoint.status === "inactive" || (await succeededSince(tx, endpoint, delivery))) return true;
    await endpoints.deactivate(tx, endpoint);
    return true;
  };

  /** Schedules the next attempt or abandons the delivery; false if the delivery has changed since. */
  const fail = async (tx: Tx, { delivery, sent }: AttemptResult) => {
    const retry_after_ms = retryAfter ? sent.retry_after_ms : undefined;
    const added = clock.mode === "manual" ? 0 : random.fraction() * jitter;
    const delay = retryDelay(delivery.rung, added, retry_after_ms);
    if (delay === undefined) return abandon(tx, delivery);
    const next_attempt_at = isoOf(clock.now() + delay);
    return (await deliveries(tx).fail({ ...delivery, status: "pending", next_attempt_at })) > 0;
  };

  const record = async (tx: Tx, { delivery, at, sent }: AttemptResult) => {
    const { id: delivery_id, organization_id, endpoint_id, event, tries: number } = delivery;
    const { status, duration_ms, error, response } = sent;
    const attempt = { delivery_id, number, organization_id, at, status, duration_ms, error };
    await deliveries(tx).insertAttempt({ ...attempt, response });
    const upTo = number - keptAttempts;
    if (upTo > 0) await deliveries(tx).dropAttempts({ delivery_id, organization_id, upTo });
    feed.publish(tx, { kind: "try", endpoint_id, event, ...attempt });
  };

  /** Adds a job that settles a simulated timeout on the service's clock. `rung` is null for a redelivery. */
  const settleLater = (tx: Tx, { delivery: { id, tries }, at, sent }: AttemptResult, rung: number | null) => {
    const { error, duration_ms, open_ms } = sent;
    return queue.add(tx, "deliveries.end", { delivery_id: id, number: tries, rung, at, error, duration_ms }, open_ms);
  };

  return {
    /** Counts an attempt for each delivery that is still due. */
    async start(tx: Tx, endpoint_id: string, due: readonly Delivery[]): Promise<StartedAttempt[]> {
      const counted: Delivery[] = [];
      for (const delivery of due) {
        const { id, organization_id, tries, rung } = delivery;
        const [nextTries, nextRung] = [tries + 1, rung + 1];
        if ((await deliveries(tx).count({ id, organization_id, tries, rung, nextTries, nextRung })) > 0)
          counted.push({ ...delivery, tries: nextTries, rung: nextRung });
      }
      const target = counted.length > 0 ? await targetOf(tx, endpoint_id) : undefined;
      return target ? counted.map((delivery) => ({ delivery, ...target })) : [];
    },

    /** Abandons a delivery whose sixth attempt was counted, but whose response was lost with its process. */
    async abandonLost(tx: Tx, { id }: Delivery) {
      const delivery = await deliveries(tx).forJob({ id });
      if (delivery) await abandon(tx, delivery);
    },

    /** Counts one more attempt without changing the retry schedule. */
    async startRedelivery(tx: Tx, id: string): Promise<StartedAttempt | undefined> {
      const delivery = await deliveries(tx).countRedelivery({ id });
      const target = delivery && (await targetOf(tx, delivery.endpoint_id));
      return target && { ...target, delivery };
    },

    /** Sends nothing after the lease is lost, because another process then sends the delivery. */
    send: (started: StartedAttempt, signal: AbortSignal, lease?: Lease): Promise<AttemptResult | "lease_lost"> =>
      withRequestSlot(async (hasWaited) => {
        const { delivery } = started;
        // The secret may have changed during the wait.
        const target = (hasWaited && (await targetOf(undefined, delivery.endpoint_id))) || started;
        const at = clock.iso();
        const { format, settings, redact } = target;
        const request = requestOf({ delivery, format, settings }, at, standardWebhooks);
        if (lease?.isHeld() === false) return "lease_lost";
        const sent = await outbound.send({ ...request, signal, event_id: delivery.event_id });
        return { delivery, at, sent: { ...sent, response: redact(sent.response) } };
      }),

    /** The request of a delivery, without secrets; undefined if its endpoint was deleted. */
    async request(delivery: Delivery, showsSignature: boolean): Promise<DeliveryRequest | undefined> {
      const target = await targetOf(undefined, delivery.endpoint_id);
      if (!target) return undefined;
      // Before the first attempt, shows the request of that attempt.
      const shown = { ...delivery, tries: Math.max(1, delivery.tries) };
      const request = requestOf({ delivery: shown, ...target }, clock.iso(), standardWebhooks);
      return withoutSecrets(request, target.settings.secrets, showsSignature);
    },

    /** Records scheduled attempts of one endpoint and settles their deliveries. */
    async settle(tx: Tx, results: readonly AttemptResult[]) {
      let succeeded = false;
      for (const result of results) {
        const { delivery } = result;
        if (result.sent.open_ms !== undefined) {
          await deliveries(tx).fail({ ...delivery, status: "pending", next_attempt_at: null });
          await settleLater(tx, result, delivery.rung);
          continue;
        }
        const changed = isAcknowledged(result.sent) ? await succeed(tx, delivery) : await fail(tx, result);
        if (changed || (await deliveries(tx).forJob(delivery))) await record(tx, result);
        if (!changed || !isAcknowledged(result.sent) || succeeded) continue;
        succeeded = true;
        await endpointRows(tx).succeeded({ ...delivery, id: delivery.endpoint_id, at: clock.iso() });
      }
    },

    /** A success settles the delivery. A failure neither turns the endpoint off nor schedules a retry. */
    async settleRedelivery(tx: Tx, result: AttemptResult) {
      const { delivery } = result;
      if (result.sent.open_ms !== undefined) return settleLater(tx, result, null);
      const acknowledged = isAcknowledged(result.sent);
      const exists = acknowledged ? await succeed(tx, delivery) : await deliveries(tx).forJob(delivery);
      if (!exists) return;
      await record(tx, result);
      if (acknowledged) await endpointRows(tx).succeeded({ ...delivery, id: delivery.endpoint_id, at: clock.iso() });
    },
  };
}
