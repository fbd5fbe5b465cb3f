import type { LogLine } from "../../drivers/deployment/contract.ts";

const denied = /\bEACCES\b|permission denied/i;
/** A port below 1024 needs a capability, which no container has. */
const isOfPort = /\b(?:listen|bind)/i;

/** Advice that follows the reason of a failed start, if the app printed that it may not write. */
export const deniedAdvice = (printed: readonly Pick<LogLine, "message">[]): string =>
  printed.some(({ message }) => denied.test(message) && !isOfPort.test(message))
    ? "; the user of the image may not write there: files that have to stay belong in /data (the variable DATA_DIR), others in /tmp, which are both writable"
    : "";
