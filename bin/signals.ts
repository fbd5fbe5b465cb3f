/** Signals that ask a program to stop: Ctrl+C, a supervisor, a closed terminal. */
export const stopSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** For a command that runs until it is stopped: stopping counts as success. */
export function exitOnSignal(): void {
  for (const signal of stopSignals) process.once(signal, () => process.exit(0));
}

/** For a command that must finish: stopping counts as failure, reported with this sentence. */
export function failOnSignal(sentence: string): void {
  for (const signal of stopSignals)
    process.once(signal, () => {
      process.stderr.write(`\nsvc-server: ${sentence}\n`);
      process.exit(1);
    });
}
