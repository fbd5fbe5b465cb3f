import type { Kept } from "../../drivers/deployment/contract.ts";
import { reasonOf } from "../../kernel/log.ts";

/** Files that outlive a process. */
export interface Stored {
  names(): Promise<string[]>;
  remove(name: string): Promise<unknown>;
}

/** Removes unused files. A failed removal is only logged, because it must not stop the service's start. */
export async function removeLeftovers(
  stored: Stored,
  keeps: (name: string) => Promise<boolean>,
  warn: Kept["warn"],
): Promise<void> {
  for (const name of await stored.names())
    if (!(await keeps(name)))
      await stored
        .remove(name)
        .catch((error) => warn(`${name}, which nothing uses any more, cannot be removed: ${reasonOf(error)}`));
}
