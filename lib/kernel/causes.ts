/** The maximum depth. It also ends circular chains. */
const maxDepth = 8;

/** The errors behind an error: its cause, or the members of an AggregateError. */
const behind = (error: unknown): readonly unknown[] => {
  const { cause, errors } = Object(error) as { cause?: unknown; errors?: unknown };
  if (cause !== undefined && cause !== null) return [cause];
  return Array.isArray(errors) ? errors : [];
};

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The text, with the messages of an error's causes: `TypeError: fetch failed: connect ECONNREFUSED 127.0.0.1:3000`. */
export function withCauses(text: string, error: unknown): string {
  let all = text;
  let causes = behind(error);
  for (let depth = 0; causes.length > 0 && depth < maxDepth; depth++) {
    const messages = new Set(causes.map(messageOf).filter((message) => !all.includes(message)));
    if (messages.size > 0) all += `: ${[...messages].join(", ")}`;
    causes = causes.flatMap(behind);
  }
  return all;
}
