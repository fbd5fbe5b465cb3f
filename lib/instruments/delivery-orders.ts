import type { Instruments } from "./instruments.ts";

/** What is forked: as much of a service as this needs. */
interface Forkable {
  readonly webhooks: Pick<Instruments["webhooks"], "deliver">;
  close(): Promise<void>;
}

/** Seven have 5,040 orders; eight would have 40,320. */
const most = 7;

/** Every order of some things; the first is the one that they were given in. */
export function* ordersOf<T>(things: readonly T[]): Generator<T[]> {
  if (things.length === 0) yield [];
  for (const [i, first] of things.entries())
    for (const rest of ordersOf([...things.slice(0, i), ...things.slice(i + 1)])) yield [first, ...rest];
}

/** Delivers in every order, each on a fork of its own, and lets `check` look at what came of it. */
export async function inEveryOrder<S extends Forkable>(
  fork: () => Promise<S>,
  deliveries: readonly string[],
  check: (service: S, order: readonly string[]) => void | Promise<void>,
): Promise<void> {
  if (deliveries.length > most)
    throw new RangeError(`${deliveries.length} deliveries have too many orders; name ${most} or fewer`);
  for (const order of ordersOf(deliveries)) {
    const service = await fork();
    try {
      await service.webhooks.deliver(order);
      await check(service, order);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new Error(`in the order ${order.join(", ")}: ${reason}`, { cause: error });
    } finally {
      await service.close();
    }
  }
}
