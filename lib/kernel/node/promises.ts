import { systemTimer } from "../clock.ts";

/** Settles like `work`, or resolves with `otherwise` if that comes first. */
export function within<T, O>(wait: string | number, work: Promise<T>, otherwise: O): Promise<T | O> {
  let cancel = () => {};
  const late = new Promise<O>((resolve) => {
    cancel = systemTimer(wait, () => resolve(otherwise));
  });
  return Promise.race([work, late]).finally(() => cancel());
}
