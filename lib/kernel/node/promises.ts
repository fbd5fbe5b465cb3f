import { systemTimer } from "../clock.ts";

/** Applies a function to a value or a promise of it. A value that is already there costs no promise. */
export const andThen = <T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> =>
  value instanceof Promise ? value.then(next) : next(value);

/** Settles like `work`, or resolves with `otherwise` after `wait`. The process stays alive meanwhile only with `hold`. */
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
