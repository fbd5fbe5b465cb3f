import * as v from "valibot";
import { quoted } from "../../kernel/text/shell-words.ts";
import { hasWithin, parseFile } from "../runtime/app-settings.ts";
import type { Step } from "./build-steps.ts";
import { installOf, workspaceOf } from "./installs.ts";
import { wantedNode } from "./wanted-versions.ts";

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
  engines: v.optional(v.unknown()),
});
const engine = v.object({ node: v.optional(v.string()), npm: v.optional(v.string()) });
type Manifest = v.InferOutput<typeof manifest>;

/** The install of a package; undefined if it has nothing to install. */
function installIn(
  root: string,
  top: string,
  { scripts, workspaces, packageManager, ...lists }: Manifest,
  npm: string | undefined,
) {
  const { dependencies, devDependencies, optionalDependencies } = lists;
  const hooks = ["preinstall", "install", "postinstall", "prepare"].some((name) => name in scripts);
  const count = [dependencies, devDependencies, optionalDependencies].flatMap(Object.keys).length;
  const isNeeded = count > 0 || hooks || workspaces !== undefined;
  return isNeeded ? installOf(root, packageManager, top, npm) : undefined;
}

/** The command of a script. npm hides a program from signals, so `npm run` is avoided where possible. */
function scriptOf(scripts: Readonly<Record<string, string>>, name: string): string | undefined {
  const hasHooks = `pre${name}` in scripts || `post${name}` in scripts;
  return hasHooks ? `npm run --silent ${name}` : scripts[name];
}

const buildOf = (scripts: Readonly<Record<string, string>>) =>
  ["svc-build", "heroku-postbuild", "build"].find((name) => name in scripts);

/** Default programs of a package. With a build or an index.html, such files may be for browsers, so none is used. */
const unnamed = ["index.js", "app.js", "src/index.js", "src/server.js"];

function programOf(root: string, { main, scripts }: Manifest): string | undefined {
  const isPlain = buildOf(scripts) === undefined && !hasWithin(root, "index.html");
  const program = [main, "server.js", ...(isPlain ? unnamed : [])].find(
    (name) => name !== undefined && hasWithin(root, name),
  );
  return program === undefined ? undefined : `node ${quoted(program)}`;
}

/** The build in a start script. It has already run, and a running app cannot write to its release. */
const buildBefore = /^\s*(npm run|(yarn|pnpm|bun)( run)?) build\s*(&&|$)/;

function withoutBuildBefore(scripts: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  if (!("build" in scripts) || buildOf(scripts) === "heroku-postbuild") return scripts;
  const rest = (script = "") => script.replace(buildBefore, "").trim();
  const { prestart, start, ...others } = scripts;
  return {
    ...others,
    ...(prestart !== undefined && rest(prestart) !== "" && { prestart }),
    ...(start !== undefined && rest(start) !== "" && { start: rest(start) }),
  };
}

/** The output folders of bundlers for single-page apps, by a name in the dependencies or the scripts. */
const singlePage = {
  vite: "dist",
  "react-scripts": "build",
  "vue-cli-service": "dist",
  "@vue/cli-service": "dist",
  ng: "dist",
  "@angular/core": "dist",
} as const;

/** How a package is installed, built and started. */
export function nodeApp(root: string, text: string, top: string) {
  const its = parseFile(manifest, "package.json", text);
  const { scripts, dependencies, devDependencies } = its;
  const start = scriptOf(withoutBuildBefore(scripts), "start");
  const asked = v.is(engine, its.engines) ? its.engines : {};
  const install = installIn(root, top, its, asked.npm);
  const isAlone = its.workspaces === undefined && workspaceOf(root, top) === undefined;
  const uses = (name: string) =>
    name in dependencies ||
    name in devDependencies ||
    Object.values(scripts).some((script) => script.split(/\s+/).includes(name));
  return {
    install: install === undefined ? [] : [{ name: "Installing dependencies", ...install } satisfies Step],
    manager: install?.wanted,
    /** Undefined in a workspace, whose packages share their development dependencies. */
    prune: isAlone ? install?.prune : undefined,
    node: wantedNode(root, asked.node),
    scripts,
    build: scriptOf(scripts, buildOf(scripts) ?? "build"),
    start: start ?? programOf(root, its),
    /** Output folders with a single page that answers all paths. */
    singlePages: Object.entries(singlePage).flatMap(([name, folder]) => (uses(name) ? [folder] : [])),
  };
}
