/** A sentence for a program that cannot run the service: an older Node, or Bun, which lacks parts of Node. */
export function unfitVersion({ node, bun }: Readonly<Record<string, string | undefined>>): string | undefined {
  const [major = 0, minor = 0] = (node ?? "").split(".").map(Number);
  if (bun === undefined && (major > 20 || (major === 20 && minor >= 19))) return undefined;
  return `svc-server needs Node 20.19 or later; this is ${bun === undefined ? `Node ${node}` : `Bun ${bun}`}`;
}
