/** Signals that ask a program to stop: Ctrl+C, a supervisor, a closed terminal. */
export const stopSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Resolves when a signal asks the program to stop. A second signal ends it at once. */
export const stopAsked = () =>
  new Promise<void>((resolve) => {
    let isStopping = false;
    for (const one of stopSignals)
      process.on(one, () => {
        // When a terminal closes, SIGHUP may arrive twice: from its shell and from the system.
        if (isStopping && one !== "SIGHUP") process.exit(1);
        isStopping = true;
        resolve();
      });
  });

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
