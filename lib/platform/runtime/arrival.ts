import { within } from "../../kernel/node/promises.ts";

/** Holds requests while an app starts, up to their time limit. */
export function createArrival() {
  let arrive: (up: boolean) => void = () => {};
  const arrival = new Promise<boolean>((resolve) => {
    arrive = resolve;
  });
  return { up: (within_ms: number) => within(within_ms, arrival, false), arrive };
}
