import type { Journal } from "./journal.ts";

export interface DeliveryFork {
  readonly webhooks: { deliver(deliveries: readonly string[]): Promise<void> };
  close(): Promise<void>;
}

/** Seven deliveries have 5,040 orders; eight would have 40,320. */
const maxDeliveries = 7;

/** Every order of these things, starting with the given one. */
export function* ordersOf<T>(things: readonly T[]): Generator<T[]> {
  if (things.length === 0) yield [];
  for (const [i, first] of things.entries())
    for (const rest of ordersOf([...things.slice(0, i), ...things.slice(i + 1)])) yield [first, ...rest];
}

/** Runs `work` for every order of the deliveries, each on its own fork. */
async function onForks<F extends { close(): Promise<void> }>(
  makeFork: () => Promise<F>,
  deliveries: readonly string[],
  work: (fork: F, order: readonly string[]) => Promise<void>,
): Promise<void> {
  for (const order of ordersOf(deliveries)) {
    const fork = await makeFork();
    await work(fork, order).finally(() => fork.close());
  }
}

/** Delivers in every order, each order on its own fork, and calls `check` on the fork afterwards. */
export async function inEveryOrder<F extends DeliveryFork>(
  makeFork: () => Promise<F>,
  deliveries: readonly string[],
  check: (fork: F, order: readonly string[]) => void | Promise<void>,
): Promise<void> {
  if (deliveries.length > maxDeliveries)
    throw new RangeError(`${deliveries.length} deliveries have too many orders; name ${maxDeliveries} or fewer`);
  await onForks(makeFork, deliveries, async (fork, order) => {
    try {
      await fork.webhooks.deliver(order);
      await check(fork, order);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new Error(`in the order ${order.join(", ")}: ${reason}`, { cause: error });
    }
  });
}

/** A receiver's response to an attempt. Both fields are null while the attempt is open, as in a simulated timeout. */
interface OrderedAttempt {
  readonly delivery_id: string;
  readonly status: number | null;
  readonly error: string | null;
}

/** The attempts that followed from one order of the deliveries. */
export interface DeliveryOrder {
  readonly order: readonly string[];
  readonly attempts: readonly OrderedAttempt[];
}

export interface EveryOrder {
  readonly deliveries: readonly string[];
  /** Whether the forks send nothing over the network. */
  readonly muted?: boolean | undefined;
}

interface JournaledFork {
  deliver(order: readonly string[]): Promise<void>;
  readonly journal: Pick<Journal, "list">;
  close(): Promise<void>;
}

/** Delivers in every order, each order on its own fork, and returns the attempts of each. */
export async function attemptsInEveryOrder(
  makeFork: () => Promise<JournaledFork>,
  deliveries: readonly string[],
): Promise<DeliveryOrder[]> {
  const orders: DeliveryOrder[] = [];
  await onForks(makeFork, deliveries, async (fork, order) => {
    const since = fork.journal.list().at(-1)?.seq ?? 0;
    await fork.deliver(order);
    const ended = fork.journal.list({ since, kind: "try" }).flatMap((one) => (one.kind === "try" ? [one] : []));
    const attempts = order.map((delivery_id) => {
      const index = ended.findIndex((one) => one.delivery_id === delivery_id);
      const [found] = index < 0 ? [] : ended.splice(index, 1);
      return { delivery_id, status: found?.status ?? null, error: found?.error ?? null };
    });
    orders.push({ order, attempts });
  });
  return orders;
}
