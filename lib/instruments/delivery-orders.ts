/** The part of a fork that this uses. */
export interface DeliveryFork {
  readonly webhooks: { deliver(deliveries: readonly string[]): Promise<void> };
  close(): Promise<void>;
}

/** Seven deliveries have 5,040 orders; eight would have 40,320. */
const maxDeliveries = 7;

/** Every order of these things, the given one first. */
export function* ordersOf<T>(things: readonly T[]): Generator<T[]> {
  if (things.length === 0) yield [];
  for (const [i, first] of things.entries())
    for (const rest of ordersOf([...things.slice(0, i), ...things.slice(i + 1)])) yield [first, ...rest];
}

/** Delivers in every order, each on a fork of its own, and lets `check` look at the result. */
export async function inEveryOrder<F extends DeliveryFork>(
  makeFork: () => Promise<F>,
  deliveries: readonly string[],
  check: (fork: F, order: readonly string[]) => void | Promise<void>,
): Promise<void> {
  if (deliveries.length > maxDeliveries)
    throw new RangeError(`${deliveries.length} deliveries have too many orders; name ${maxDeliveries} or fewer`);
  for (const order of ordersOf(deliveries)) {
    const fork = await makeFork();
    try {
      await fork.webhooks.deliver(order);
      await check(fork, order);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new Error(`in the order ${order.join(", ")}: ${reason}`, { cause: error });
    } finally {
      await fork.close();
    }
  }
}
