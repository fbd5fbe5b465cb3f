import { descriptorShares } from "../../kernel/descriptors.ts";

/** All services of a process share its descriptors. */
let free = descriptorShares().requests;
const waiting: (() => void)[] = [];

/** Does `work` once fewer requests are open than the process has descriptors for. Tells it whether it had to wait. */
export async function withRequestSlot<T>(work: (hasWaited: boolean) => Promise<T>): Promise<T> {
  const hasWaited = free <= 0;
  if (!hasWaited) free -= 1;
  else await new Promise<void>((resolve) => waiting.push(resolve));
  try {
    return await work(hasWaited);
  } finally {
    // The next one gets this slot, without it being free in between.
    const next = waiting.shift();
    if (next) next();
    else free += 1;
  }
}
