/** Removes an endpoint's secrets from its responses: a receiver may echo the request, and some paths are secrets. */
export function redactor(secrets: Readonly<Record<string, string>>): (response: string | null) => string | null {
  const words = Object.values(secrets).flatMap((secret) =>
    secret.startsWith("https://") ? [secret, new URL(secret).pathname] : [secret],
  );
  // The longest first, or the rest of one that contains another would stay. Three characters or fewer occur everywhere.
  const hidden = words.filter((word) => word.length > 3).sort((a, b) => b.length - a.length);
  return (response) =>
    hidden.reduce((text: string | null, word) => text?.replaceAll(word, "[redacted]") ?? null, response);
}
