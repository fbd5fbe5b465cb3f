import { descriptorShares } from "../../kernel/node/descriptors.ts";

/** Shared by all services of a process, because they share its descriptors. */
let free = descriptorShares().requests;
const waiting: (() => void)[] = [];

/** Runs `work` once the process has descriptors for another request. `hasWaited` tells it whether it had to wait. */
export async function withRequestSlot<T>(work: (hasWaited: boolean) => Promise<T>): Promise<T> {
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
}
