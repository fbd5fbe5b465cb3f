/**
 * Chooses the content coding of a file by `Accept-Encoding`: the available coding with the highest q-value, or the
 * first of several. Undefined means no coding, even if the client refuses that too.
 */
export function acceptedEncoding<T extends string>(header: string | undefined, available: readonly T[]): T | undefined {
  const rated = new Map(
    (header ?? "").split(",").map((part): [string, number] => {
      const [name = "", ...parameters] = part.toLowerCase().split(";");
      const [, q] = /^\s*q\s*=(.*)$/.exec(parameters.find((one) => /^\s*q\s*=/.test(one)) ?? "") ?? [];
      return [name.trim().replace(/^x-/, ""), q === undefined ? 1 : Number.parseFloat(q) || 0];
    }),
  );
  const ratingOf = (name: string) => rated.get(name) ?? rated.get("*") ?? 0;
  // If the client does not name `identity`, any coding that it accepts is preferred.
  const plain = rated.get("identity") ?? 0;
  const best = available.reduce<T | undefined>(
    (chosen, one) => (ratingOf(one) > (chosen === undefined ? 0 : ratingOf(chosen)) ? one : chosen),
    undefined,
  );
  return best !== undefined && ratingOf(best) >= plain ? best : undefined;
}
