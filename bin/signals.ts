/** The signals that ask a program to stop: Ctrl+C, a supervisor, the end of its terminal. */
export const stopSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** For a command that runs until it is stopped: stopping it is a success. */
export function exitOnSignal(): void {
  for (const signal of stopSignals) process.once(signal, () => process.exit(0));
}

/** For a command that must finish: stopping it is a failure, which this sentence reports. */
export function failOnSignal(sentence: string): void {
  for (const signal of stopSignals)
    process.once(signal, () => {
      process.stderr.write(`\nsvc-server: ${sentence}\n`);
      process.exit(1);
    });
}
