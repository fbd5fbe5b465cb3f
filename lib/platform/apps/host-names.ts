import { createHash } from "node:crypto";

const maxLabel = 63;
const shortLength = 6;

/** A name as part of a host: letters lose their accents, other characters become hyphens. */
export const slugOf = (name: string): string =>
  name
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, 255)
    .replace(/^-|-$/g, "");

const cut = (slug: string, length: number) => slug.slice(0, length).replace(/-$/, "");

/** A short hash of an identifier. */
const shortOf = (id: string) =>
  BigInt(`0x${createHash("sha256").update(id).digest("hex")}`)
    .toString(36)
    .slice(0, shortLength);

/** Candidate host labels for an environment, most readable first. All but the first contain a short id. */
export function* labelsOf(environment: string, project: string, id: string): Generator<string> {
  const [first, second] = [slugOf(environment), slugOf(project)];
  const plain = [first, second].filter((part) => part !== "").join("-");
  if (first !== "" && second !== "") yield cut(plain, maxLabel);
  const room = maxLabel - shortLength - 1;
  for (let number = 0; ; number++)
    yield `${cut(plain || "app", room)}-${shortOf(number === 0 ? id : `${id} ${number}`)}`;
}
