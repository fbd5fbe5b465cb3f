import { Failure } from "../runtime/failure.ts";
import { at, expand, formatInstruction, type Instruction, parseDockerfile, readInstruction } from "./dockerfile.ts";

export interface SourcePorts {
  /** The platform of the engine: `linux/amd64`. */
  readonly platform: string;
  /** Builds with the same value share the engine's cache. */
  readonly cache: string;
  /** Prepares a base image; returns its name with its digest. */
  pin(name: string): Promise<string>;
}

/** A Dockerfile whose images are pinned to digests. */
export interface Pinned {
  readonly text: string;
  /** For each line of `text`, the line of the original Dockerfile. */
  readonly lines: readonly number[];
}

/** A label that separates the build cache of the steps after it. */
const apart = (cache: string) => ({ keyword: "LABEL", options: [], rest: `svc-server.cache="${cache}"` });

const stageName = /^[a-z][a-z0-9_.-]{0,127}$/;
const platformForm = /^[a-z0-9]{1,40}(\/[a-z0-9]{1,40}){0,2}$/i;
/** Splits `A=1 B="2 3"` into words. */
const words = /(?:[^ \t"']|"[^"]*"|'[^']*')+/g;

/**
 * Rewrites a Dockerfile with one line per instruction and a digest per image. Without a digest, the engine would match
 * an unknown stage name against all its images, even by id prefix, including images of other organizations.
 */
export async function pinSources(text: string, ports: SourcePorts): Promise<Pinned> {
  const { escapeCharacter, instructions } = parseDockerfile(text);
  const written: (readonly [number, string])[] = escapeCharacter === "`" ? [[1, "# escape=`"]] : [];
  const [os = "", arch = ""] = ports.platform.split("/");
  const values = new Map(
    ["BUILD", "TARGET"].flatMap((of) => [
      [`${of}PLATFORM`, ports.platform],
      [`${of}OS`, os],
      [`${of}ARCH`, arch],
    ]),
  );
  const stages: string[] = [];
  for (const one of instructions) {
    const write = (instruction: Omit<Instruction, "line">) =>
      void written.push([one.line, formatInstruction(instruction)]);
    if (one.keyword === "FROM") {
      const { isImage, name, ...from } = await readFrom(one, stages, values, ports);
      write(from);
      if (isImage) write(apart(ports.cache));
      stages.push(name);
    } else if (one.keyword === "ARG" && stages.length === 0) {
      readArguments(one, values);
      write(one);
    } else {
      if (stages.length === 0) throw at(one.line, `${one.keyword} comes before the first FROM`);
      refuseTriggers(one, escapeCharacter);
      write({ ...one, options: await Promise.all(one.options.map((option) => pinOption(option, one, stages, ports))) });
    }
  }
  if (stages.length === 0) throw at(1, "it has no FROM");
  return { text: written.map(([, line]) => `${line}\n`).join(""), lines: written.map(([line]) => line) };
}

/**
 * Throws if an ONBUILD trigger of a base image names a source, because it is unknown which organization may read that
 * source.
 */
export function checkTrigger(trigger: string): void {
  const { escapeCharacter, instructions } = parseDockerfile(trigger);
  for (const one of instructions)
    refuseTriggers({ ...one, keyword: "ONBUILD", rest: formatInstruction(one) }, escapeCharacter);
}

function refuseTriggers({ line, keyword, rest }: Instruction, escapeCharacter: string): void {
  if (keyword !== "ONBUILD") return;
  const one = readInstruction(rest, line, escapeCharacter);
  const { options } = one;
  const hasSource =
    options.some((option) => option.startsWith("--from")) || (one.keyword === "RUN" && options.length > 0);
  if (hasSource || ["FROM", "ONBUILD"].includes(one.keyword))
    throw at(line, `ONBUILD ${formatInstruction(one)} is not supported: a trigger must not name an image`);
}

/** Reads the `ARG` defaults before the first stage. `FROM` may use them. */
function readArguments({ line, rest }: Instruction, values: Map<string, string>): void {
  for (const [word] of rest.matchAll(words)) {
    const [name = ""] = word.split("=", 1);
    if (word !== name) values.set(name, expanded(word.slice(name.length + 1), line, values));
  }
}

function expanded(word: string, line: number, values: ReadonlyMap<string, string>): string {
  const text = expand(word, values);
  if (text !== undefined) return text;
  throw at(
    line,
    `${word} has a form of variables or quotes that is not supported; write \${NAME} or \${NAME:-default}`,
  );
}

async function readFrom(
  { line, options, rest, keyword }: Instruction,
  stages: readonly string[],
  values: ReadonlyMap<string, string>,
  ports: SourcePorts,
) {
  const [written = "", as, name = "", ...more] = rest.split(/[ \t]+/);
  if (more.length > 0 || (as !== undefined && (as.toLowerCase() !== "as" || !stageName.test(name.toLowerCase()))))
    throw at(line, `FROM ${rest} is not of the form FROM image AS stage`);
  checkPlatform(options, line, values, ports.platform);
  const image = expanded(written, line, values);
  if (image === "")
    throw at(line, `FROM ${written} names no image; give its variable a value with ARG before the first FROM`);
  const stage = stages.includes(image.toLowerCase()) ? image.toLowerCase() : undefined;
  const isScratch = image === "scratch";
  const source = stage ?? (isScratch ? image : await naming(line, `FROM ${image}`, () => ports.pin(image)));
  return {
    keyword,
    options: [],
    rest: as === undefined ? source : `${source} AS ${name.toLowerCase()}`,
    name: name.toLowerCase(),
    isImage: stage === undefined,
  };
}

/**
 * Refuses a foreign platform. One digest may name images for several platforms, but the engine keeps only one of them.
 * So the image of one build would become the base of all other builds.
 */
function checkPlatform(
  options: readonly string[],
  line: number,
  values: ReadonlyMap<string, string>,
  own: string,
): void {
  for (const option of options) {
    const [, written] = /^--platform=(.+)$/.exec(option) ?? [];
    if (written === undefined) throw at(line, `FROM has no option ${option}`);
    const platform = expanded(written, line, values);
    if (!platformForm.test(platform)) throw at(line, `${option} is not a platform such as linux/amd64`);
    if (platform !== own) throw at(line, `${option} is another platform than the engine's, which is ${own}`);
  }
}

/** Pins the stages and images that an option names. */
async function pinOption(
  option: string,
  { line, keyword }: Instruction,
  stages: readonly string[],
  ports: SourcePorts,
): Promise<string> {
  const source = (name: string) => pinSource(name, { line, what: `${keyword} ${option}` }, stages, ports);
  const [, from] = /^--from=(.*)$/.exec(option) ?? [];
  if (from !== undefined) return `--from=${await source(from)}`;
  // No engine supports `from` here. One that did would look up the image by its name.
  if (keyword !== "RUN" && /[=,]from=/i.test(option))
    throw at(line, `${keyword} ${option} is not allowed; leave the option out`);
  if (keyword !== "RUN" || /^--network=(none|default)$/.test(option)) return option;
  const [, mount] = /^--mount=(.*)$/.exec(option) ?? [];
  if (mount === undefined) throw at(line, `RUN ${option} is not allowed; leave the option out`);
  const parts = mount.split(",").map((part) => {
    const [key = ""] = part.split("=", 1);
    return [key.toLowerCase(), part.slice(key.length)] as const;
  });
  const other = parts.find(([key, value]) => key === "type" && !["=bind", "=tmpfs"].includes(value));
  if (other) throw at(line, `RUN --mount=type${other[1]} is not allowed: a mount is of the type bind or tmpfs`);
  const named = parts.map(async ([key, value]) => key + (key === "from" ? `=${await source(value.slice(1))}` : value));
  return `--mount=${(await Promise.all(named)).join(",")}`;
}

/** An earlier stage by name or number, else an image with its digest. */
async function pinSource(
  name: string,
  { line, what }: { readonly line: number; readonly what: string },
  stages: readonly string[],
  { pin }: SourcePorts,
): Promise<string> {
  const earlier = stages.slice(0, -1);
  if (/^\d{1,9}$/.test(name) && Number(name) < earlier.length) return String(Number(name));
  if (name !== "" && earlier.includes(name.toLowerCase())) return name.toLowerCase();
  return naming(line, what, () => pin(name));
}

/** Adds the Dockerfile line to the error if an image cannot be pulled. */
async function naming<T>(line: number, what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof Failure ? at(line, `${what}: ${error.message}`) : error;
  }
}
