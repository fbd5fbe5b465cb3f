import { systemTimer } from "../clock.ts";

/** Settles like `work`, or resolves with `otherwise` after `wait`. Only with `hold` does it keep the process alive. */
export function within<T, O>(
  wait: string | number,
  work: Promise<T>,
  otherwise: O,
  { hold = false } = {},
): Promise<T | O> {
  let cancel = () => {};
  const late = new Promise<O>((resolve) => {
    cancel = systemTimer(wait, () => resolve(otherwise), { hold });
  });
  return Promise.race([work, late]).finally(() => cancel());
}
