// Every regular expression of lib/ and bin/, judged by recheck, whose folder is the argument: none may backtrack
// exponentially, or more than quadratically. A quadratic one needs an entry below that says why its input is short.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { nodes, sources } from "../test/architecture/source.ts";

type Verdict = { readonly status: string; readonly complexity?: { readonly type: string; readonly degree?: number } };
// Its other engines are programs for a platform or for Java.
process.env["RECHECK_BACKEND"] = "pure";
const { checkSync } = createRequire(join(resolve(process.argv[2] ?? "."), "package.json"))("recheck");

/** Polynomial ones by the start of their source, each with the reason why that does no harm. */
const bounded: Readonly<Record<string, string>> = {
  "\\/+$": "runs over the base URL that the program's own settings name",
  "([\\w-]+)\\/\\{(\\w+)\\}": "runs over the paths of our operations",
  "%.*$": "runs over a header, which holds no line break, so that the first % ends it",
  "^(?:(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}": "runs over the 512 characters that an image may have",
  "(?<name>[\\w-]{0,32}":
    "took 13 ms for 80,000 characters of the attack that recheck found, and twice that for twice as many",
};

/** The degree of the polynomial of its steps; infinite if it is exponential; undefined where recheck has no answer. */
function degreeOf(source: string, flags: string): number | undefined {
  const { status, complexity }: Verdict = checkSync(source, flags, { timeout: 600_000, randomSeed: 1 });
  if (status === "safe") return 1;
  if (status !== "vulnerable") return undefined;
  return complexity?.type === "exponential" ? Number.POSITIVE_INFINITY : complexity?.degree;
}

const fault = (source: string, flags: string): string | undefined => {
  const degree = degreeOf(source, flags);
  if (degree === undefined) return "recheck cannot judge it; write it in a simpler form";
  if (degree === Number.POSITIVE_INFINITY) return "takes exponential time; let no two parts match the same text";
  if (Object.keys(bounded).some((start) => source.startsWith(start))) return undefined;
  if (degree > 2) return `takes time of degree ${degree}; let no two parts match the same text`;
  return degree === 2 ? "takes quadratic time; bound its repetition or its input" : undefined;
};

// The check can fail.
assert.match(fault("^(a+)+$", "") ?? "", /exponential/);
assert.match(fault("^(\\w|\\d)*;", "") ?? "", /exponential/);
assert.match(fault("a*a*b", "") ?? "", /degree 3/);
assert.match(fault("\\s+$", "") ?? "", /quadratic/);
assert.equal(fault("^a{1,5}b+$", ""), undefined);

const found = new Map<string, { readonly source: string; readonly flags: string; readonly place: string }>();
const add = (source: string, flags: string, place: string) =>
  found.set(`/${source}/${flags}`, { source, flags, place });
for (const file of sources("lib", "bin")) {
  for (const node of nodes(file.program)) {
    const { regex } = node;
    if (node.type === "Literal" && regex) add(regex.pattern, regex.flags, `${file.path}:${file.line(node)}`);
  }
}
const literals = found.size;
// Those that modules put together while they load.
globalThis.RegExp = new Proxy(RegExp, {
  construct(target, [source, flags = ""]) {
    const place = /\((?:file:\/\/)?[^()]*?((?:lib|bin)\/[^()]*?:\d+)/.exec(
      new Error().stack?.split("\n")[2] ?? "",
    )?.[1];
    if (place && typeof source === "string") add(source, flags, place);
    return new target(source, flags);
  },
});
// Programs of their own run as they load.
for (const { path } of sources("lib")) if (!/(worker|static-server)\.ts$/.test(path)) await import(join("..", path));
assert.ok(literals > 100 && found.size > literals, `${literals} literals, ${found.size - literals} others`);

const faults = [...found].flatMap(([text, { source, flags, place }]) => {
  const wrong = fault(source, flags);
  return wrong ? [`${place} ${text} ${wrong}`] : [];
});
const all = [...found.values()];
const outlived = Object.keys(bounded).filter((start) => !all.some(({ source }) => source.startsWith(start)));
faults.push(...outlived.map((start) => `.ci/regular-expressions.ts names /${start}/, which is gone; remove the entry`));
if (faults.length > 0) {
  process.stderr.write(`${faults.join("\n")}\n`);
  process.exit(1);
}
process.stdout.write(`${found.size} regular expressions, none that backtracks without bound\n`);
process.exit();
