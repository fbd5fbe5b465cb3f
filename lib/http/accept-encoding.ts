/**
 * Chooses the coding of a file by the request's `Accept-Encoding`: the available coding with the highest q-value, the
 * first of equal ones. Undefined means no coding, also if the client accepts none of them.
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
  // A client that does not name `identity` takes it where nothing better exists.
  const plain = rated.get("identity") ?? 0;
  const best = available.reduce<T | undefined>(
    (chosen, one) => (ratingOf(one) > (chosen === undefined ? 0 : ratingOf(chosen)) ? one : chosen),
    undefined,
  );
  return best !== undefined && ratingOf(best) >= plain ? best : undefined;
}
