/** Leaves the secrets of an endpoint out of its answers: a receiver may echo what it was sent, and some paths are secrets. */
export function redactor(secrets: Readonly<Record<string, string>>): (response: string | null) => string | null {
  const words = Object.values(secrets).flatMap((secret) =>
    secret.startsWith("https://") ? [secret, new URL(secret).pathname] : [secret],
  );
  // The longer ones first, or a part of one would be left over; very short ones are in every text.
  const hidden = words.filter((word) => word.length > 3).sort((a, b) => b.length - a.length);
  return (response) =>
    hidden.reduce((text: string | null, word) => text?.replaceAll(word, "[redacted]") ?? null, response);
}
