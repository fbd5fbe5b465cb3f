import type { Random } from "../../lib/kernel/random.ts";
import { start } from "../helpers/webhook-receiver.ts";

interface Delivery {
  readonly attempts: Set<number>;
  readonly body: string;
  /** The last attempt broke the connection, so the same attempt may arrive again on a new connection. */
  isBroken: boolean;
}

/**
 * Receivers of webhooks: `/fine` accepts everything; until `calm()`, `/flaky` refuses, breaks the connection or never
 * answers.
 */
export async function startReceivers(random: Random) {
  const deliveries = new Map<string, Delivery>();
  const wrong: string[] = [];
  let isCalm = false;
  const receiver = await start(({ headers, path, body }, response) => {
    const id = String(headers["x-service-delivery"]);
    const attempt = Number(headers["x-service-attempt"]);
    const delivery = deliveries.get(id) ?? { attempts: new Set(), body, isBroken: false };
    deliveries.set(id, delivery);
    if (delivery.attempts.has(attempt) && !delivery.isBroken) wrong.push(`the attempt ${attempt} of ${id} came twice`);
    if (attempt > 6) wrong.push(`the attempt ${attempt} of ${id} came`);
    if (delivery.body !== body) wrong.push(`an attempt of ${id} had another body`);
    delivery.attempts.add(attempt);
    const luck = path.endsWith("/flaky") && !isCalm ? random.fraction() : 1;
    delivery.isBroken = luck < 0.1;
    if (luck < 0.1) return void response.destroy();
    if (luck < 0.2) return;
    response.statusCode = luck < 0.5 ? 503 : 200;
    response.end();
  });
  return {
    url: `https://localhost:${receiver.port}`,
    close: receiver.close,
    /** From now on `/flaky` accepts every delivery. */
    calm() {
      isCalm = true;
    },
    wrong,
    /** Deliveries that are marked succeeded but never arrived. */
    missing: (ids: readonly string[]) =>
      ids.filter((id) => !deliveries.has(id)).map((id) => `${id} succeeded, and never arrived`),
  };
}
