/** Runs `work` once there is a slot for another request. `hasWaited` tells it whether it had to wait. */
export type WithRequestSlot = <T>(work: (hasWaited: boolean) => Promise<T>) => Promise<T>;

export function createRequestSlots(count: number): WithRequestSlot {
  let free = count;
  const waiting: (() => void)[] = [];
  return async (work) => {
    const hasWaited = free <= 0;
    if (!hasWaited) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work(hasWaited);
    } finally {
      // The next waiter takes over this slot directly.
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    }
  };
}
