/** Creates a function that runs the work of each name one after the other. `all` resolves when all of it has ended. */
export function createOneAtATime() {
  const last = new Map<string, Promise<void>>();
  const run = <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const result = (last.get(name) ?? Promise.resolve()).then(work);
    const over = result
      .catch(() => {})
      .then(() => {
        if (last.get(name) === over) last.delete(name);
      });
    last.set(name, over);
    return result;
  };
  return Object.assign(run, { all: async () => void (await Promise.all(last.values())) });
}
