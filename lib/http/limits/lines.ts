import { yieldToEventLoop } from "../../kernel/node/event-loop.ts";

/** Runs the work of each name one after the other, and each but the first in a tick of its own: thousands may wait. */
export function createLines() {
  /** The end of the last work of each name. It never rejects. */
  const lines = new Map<string, Promise<void>>();
  return <T>(name: string, run: () => Promise<T>): Promise<T> => {
    const before = lines.get(name);
    const done = before !== undefined ? before.then(yieldToEventLoop).then(run) : run();
    const leave = () => {
      if (lines.get(name) === line) lines.delete(name);
    };
    const line = done.then(leave, leave);
    lines.set(name, line);
    return done;
  };
}
