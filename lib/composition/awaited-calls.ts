/** Finds calls that a test forgot to await: the next call would see their work half done. */
export function createAwaitedCalls() {
  const open = new Set<{ readonly name: string; isTaken: boolean }>();
  let forgotten: string | undefined;

  const find = (): Error | undefined => {
    for (const call of open) {
      if (call.isTaken) continue;
      open.delete(call);
      forgotten ??= call.name;
    }
    if (forgotten === undefined) return undefined;
    return new Error(`${forgotten} was not awaited: write await before it, so that the test goes on once it is done`);
  };
  /** The name of a call that has not settled, whether or not somebody waits for it. */
  const unsettled = (): string | undefined => [...open][0]?.name;
  const check = () => {
    const before = forgotten;
    const found = find();
    if (found && before === undefined) throw found;
  };

  /**
   * Runs a call that has to be awaited. `await`, `then` and `Promise.all` each read one of these two properties of a
   * promise at once, so reading it shows that somebody waits.
   */
  const watch = <T>(name: string, run: () => Promise<T>): Promise<T> => {
    const call = { name, isTaken: false };
    const work = async () => {
      check();
      const result = run();
      open.add(call);
      return result.finally(() => open.delete(call));
    };
    const promise = work();
    const take = (key: "then" | "constructor") => ({
      configurable: true,
      get() {
        call.isTaken = true;
        return Promise.prototype[key];
      },
    });
    for (const key of ["then", "constructor"] as const) void Object.defineProperty(promise, key, take(key));
    return promise;
  };

  /** Makes each function call `check` first. Functions in nested objects stay synchronous, others return a promise. */
  const checked = <T extends object>(tools: T, isNested = false): T =>
    Object.fromEntries(
      Object.entries(tools).map(([name, tool]) => {
        if (typeof tool !== "function") return [name, checked(tool as object, true)];
        const atOnce = (...given: unknown[]): unknown => {
          check();
          return tool(...given);
        };
        const run = isNested ? atOnce : async (...given: unknown[]) => atOnce(...given);
        return [name, Object.defineProperty(run, "name", { value: name })];
      }),
    ) as T;

  return { check, watch, checked, unsettled, atEnd: find };
}
