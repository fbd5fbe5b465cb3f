import { quoted } from "../../kernel/text/shell-words.ts";
import { isInRange } from "../../kernel/text/version-range.ts";
import { Lacking } from "../runtime/failure.ts";
import { type Build, printed } from "./build-steps.ts";
import type { Plan } from "./detect.ts";
import type { Box } from "./sandbox.ts";
import { toolsFolder } from "./tools.ts";
import type { Wanted } from "./wanted-versions.ts";

/** Lists the interpreters that boxes find and that can make a virtual environment, each with its version. */
const pythons = `
for file in python3 /usr/local/bin/python3.* /usr/bin/python3.* /usr/local/share/mise/installs/python/*/bin/python3; do
  case $file in *-config) continue ;; esac
  version=$("$file" -c 'import sys, venv, ensurepip; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null) || continue
  echo "$version $file"
done`;

async function providePython({ range, from }: Wanted, box: Box, build: Build): Promise<void> {
  const interpreters = (await printed(pythons, box, build)).split("\n").flatMap((line) => {
    const [version, file] = line.split(" ");
    return version && file ? [{ version, file }] : [];
  });
  // The first step reports that the machine has no Python.
  if (interpreters.length === 0) return;
  const fits = (accepted: string) => interpreters.find(({ version }) => isInRange(version, accepted));
  // A machine rarely has the exact patch, and patches are compatible.
  const chosen = fits(range) ?? fits(range.replace(/^(\d+\.\d+)\.\d+$/, "$1"));
  if (chosen === undefined) {
    const there = [...new Set(interpreters.map(({ version }) => version))].join(", ");
    throw new Lacking(
      `the app asks for Python ${range} (${from}), and the machine has ${there}: install that version for all users, as \`mise install --system\` does, or ask for another in ${from}`,
    );
  }
  const { version, file } = chosen;
  const isExact = isInRange(version, range);
  const message = `Python ${version} runs the app (${from}${isExact ? "" : ` asks for ${range}, which this machine lacks`})`;
  build.log({ level: isExact ? "info" : "warn", message });
  if (file === "python3") return;
  // A script instead of a link: a virtual environment searches for libraries next to its interpreter.
  const program = `${toolsFolder}/.bin/python3`;
  const lines = ["#!/bin/sh", `exec ${file} "$@"`].map(quoted).join(" ");
  await printed(
    `mkdir -p ${toolsFolder}/.bin && printf '%s\n' ${lines} > ${program} && chmod +x ${program}`,
    box,
    build,
  );
}

/** Checks Go. From 1.21 it fetches the requested version itself. */
async function provideGo({ range, fetches, from }: Wanted, box: Box, build: Build): Promise<void> {
  const text = await printed("cd / && go version 2>/dev/null || true", box, build);
  const version = /go(\d+\.\d+(?:\.\d+)?)/.exec(text)?.[1];
  const full = version?.split(".").length === 2 ? `${version}.0` : version;
  if (full === undefined || isInRange(full, ">=1.21") || isInRange(full, range)) return;
  throw new Lacking(
    `the app asks for Go ${fetches} (${from}), and the machine has ${version}: install a newer one for all users, such as golang-go of Debian's backports or https://go.dev/dl; Go 1.21 and later fetch what go.mod asks for`,
  );
}

/** Provides the versions of languages that an app requests, before anything is installed. */
export async function provideLanguages({ languages }: Plan, box: Box, build: Build): Promise<void> {
  for (const wanted of languages) await (wanted.name === "go" ? provideGo : providePython)(wanted, box, build);
}
