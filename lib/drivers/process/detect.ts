import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { join, sep } from "node:path";
import * as v from "valibot";
import { quoted } from "../../kernel/shell-words.ts";
import { detailOf, record, textLike, textOf, wholeNumber } from "../../kernel/validation.ts";
import { Failure } from "./failure.ts";
import { type Install, installOf } from "./installs.ts";

const command = textOf(1, 4096);
const relativeFolder = textLike(
  255,
  /^(?!\/)(?!.*(^|\/)\.\.(\/|$))[^\0]+$/,
  "must be a folder of the repository, such as dist",
);
const settings = record({
  build: v.optional(command),
  start: v.optional(command),
  static: v.optional(relativeFolder),
  health: v.optional(textLike(1024, /^\/[\x21-\x7e]*$/, "must be a path such as /healthz")),
  port: v.optional(wholeNumber(1, 65_535)),
});

const scripts = v.optional(v.record(v.string(), v.string()), {});
const named = v.optional(v.record(v.string(), v.unknown()), {});
const manifest = v.object({
  scripts,
  main: v.optional(v.string()),
  dependencies: named,
  devDependencies: named,
  optionalDependencies: named,
  workspaces: v.optional(v.unknown()),
  packageManager: v.optional(v.string()),
});
type Manifest = v.InferOutput<typeof manifest>;

/** A step of a build: a name for the log, a shell command, and the package manager that it cannot do without. */
export interface Step {
  readonly name: string;
  readonly command: string;
  readonly program?: string;
}

/** What is run of a repository. */
export interface Plan {
  readonly steps: readonly Step[];
  /** Runs once, after the build. */
  readonly release: string | undefined;
  readonly start: string | undefined;
  /** The folder of a static site; without it and without `start`, one is looked for after the build. */
  readonly folder: string | undefined;
  readonly health: string;
  readonly hasDockerfile: boolean;
  /** Where the parts were found. */
  readonly found: readonly string[];
}

const largestSetting = 1024 * 1024;

/** The text of a file of the repository. A link that leads out of it counts as no file. */
export function readWithin(root: string, name: string): string | undefined {
  const path = join(root, name);
  if (!existsSync(path)) return undefined;
  const real = realpathSync(path);
  if (!real.startsWith(realpathSync(root) + sep) || !statSync(real).isFile()) return undefined;
  if (statSync(real).size > largestSetting) throw new Failure(`${name} is larger than 1 MiB`);
  return readFileSync(real, "utf8");
}

function parse<S extends v.GenericSchema>(schema: S, name: string, text: string): v.InferOutput<S> {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch (error) {
    throw new Failure(`${name} is not JSON: ${(error as Error).message}`);
  }
  const result = v.safeParse(schema, given);
  if (result.success) return result.output;
  const { path, message } = detailOf(result.issues[0]);
  throw new Failure(`${name}: ${path === "body" ? "it" : path} ${message}`);
}

/** The install of a package that has something to install. */
function neededInstall(root: string, { scripts, workspaces, packageManager, ...lists }: Manifest): Install | undefined {
  const { dependencies, devDependencies, optionalDependencies } = lists;
  const hooks = ["preinstall", "install", "postinstall", "prepare"].some((name) => name in scripts);
  const count = [dependencies, devDependencies, optionalDependencies].flatMap(Object.keys).length;
  return count > 0 || hooks || workspaces !== undefined ? installOf(root, packageManager) : undefined;
}

const processesIn = (procfile: string) =>
  new Map(
    procfile.split(/\r?\n/).flatMap((line) => {
      const [, name, text] = /^([A-Za-z0-9_-]+):\s*(\S.*)$/.exec(line) ?? [];
      return name && text ? [[name, text.trim()] as const] : [];
    }),
  );

/** The text of one command replaces its shell, so that signals reach the program itself. */
export const replacingShell = (command: string) =>
  /^[\w./@:=,+% '"-]+$/.test(command) && !/^\s*(\w+=|(cd|\.|source|exec|eval|if|for|while|until|case)\s)/.test(command)
    ? `exec ${command}`
    : command;

/** The script of package.json, by its text: npm would hide the program from signals. */
function scriptOf(scripts: Readonly<Record<string, string>>, name: string): string | undefined {
  const hasHooks = `pre${name}` in scripts || `post${name}` in scripts;
  return hasHooks ? `npm run --silent ${name}` : scripts[name];
}

const buildScriptOf = ({ scripts }: Manifest) => scriptOf(scripts, "svc-build" in scripts ? "svc-build" : "build");

function programOf(root: string, { main }: Partial<Manifest>): string | undefined {
  const program = [main, "server.js"].find((name) => name !== undefined && readWithin(root, name) !== undefined);
  return program === undefined ? undefined : `node ${quoted(program)}`;
}

/** The settings of `svc.json`, which is optional. */
export function ownSettings(root: string): v.InferOutput<typeof settings> {
  const own = readWithin(root, "svc.json");
  return own === undefined ? {} : parse(settings, "svc.json", own);
}

/** Reads what a repository says about its build and start. CONTRACT section 11, "What is run". */
export function detect(root: string): Plan {
  const [own, packages, procfile] = ["svc.json", "package.json", "Procfile"].map((name) => readWithin(root, name));
  const given = ownSettings(root);
  const its = packages === undefined ? undefined : parse(manifest, "package.json", packages);
  const processes = processesIn(procfile ?? "");
  const install = its && neededInstall(root, its);
  const build = given.build ?? (its && buildScriptOf(its));
  const start =
    given.start ??
    (given.static === undefined
      ? ((its && scriptOf(its.scripts, "start")) ?? processes.get("web") ?? (its && programOf(root, its)))
      : undefined);
  return {
    steps: [
      ...(install === undefined ? [] : [{ name: "Installing dependencies", ...install }]),
      ...(build === undefined ? [] : [{ name: "Building", command: build }]),
    ],
    release: processes.get("release"),
    start,
    folder: given.static,
    health: given.health ?? "/",
    hasDockerfile: existsSync(join(root, "Dockerfile")),
    found: [own, packages, procfile].flatMap((text, i) =>
      text === undefined ? [] : (["svc.json", "package.json", "Procfile"][i] ?? []),
    ),
  };
}

const nothingFound =
  "nothing to run was found: neither svc.json with start or static, nor package.json with a start script, main or server.js, nor a Procfile with web, nor a static folder with index.html (public, dist, build, out, _site or the top)";

/**
 * The folder of a static site, after the build. It is looked for in the box, by a shell script whose output `look` answers:
 * a link of the build leads to nothing there but what the box shows.
 */
export async function staticFolder(
  { folder, steps, hasDockerfile }: Plan,
  look: (script: string) => Promise<string>,
): Promise<string> {
  const find = async (places: readonly string[]) => {
    const tests = places.map((place) => `[ -f ${quoted(`./${place}/index.html`)} ] && echo ${quoted(place)} && exit`);
    const found = (await look([...tests, "true"].join("\n"))).trim();
    return places.find((place) => place === found);
  };
  if (folder !== undefined) {
    if ((await find([folder])) !== undefined) return folder;
    throw new Failure(`the static folder ${folder} of svc.json has no index.html after the build`);
  }
  // A build writes its own folder; what it starts from may hold an index.html too.
  const written = ["dist", "build", "out", "_site"];
  const found = await find(steps.length > 0 ? [...written, "public", "."] : ["public", ...written, "."]);
  if (found !== undefined) return found;
  throw new Failure(
    hasDockerfile
      ? `${nothingFound}; its Dockerfile needs the runtime engine, which is not among deployments.runtime`
      : nothingFound,
  );
}
