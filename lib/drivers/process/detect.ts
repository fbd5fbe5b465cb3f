import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Schedule } from "../deployment/contract.ts";
import { ownSettings, readWithin } from "../runtime/app-settings.ts";
import { processesIn, workersIn } from "../runtime/procfile.ts";
import type { Worker } from "../runtime/workers.ts";
import type { Step } from "./build-steps.ts";
import { goApp } from "./go-app.ts";
import { nodeApp } from "./node-app.ts";
import type { Wanted } from "./node-version.ts";
import { pythonApp } from "./python-app.ts";

/** The commands and folders that a repository asks for. */
export interface Plan {
  readonly steps: readonly Step[];
  /** The Node that the app asks for. */
  readonly node: Wanted | undefined;
  /** The package manager of its install. */
  readonly manager: Wanted | undefined;
  /** Removes development dependencies after the build. */
  readonly prune: string | undefined;
  /** The scripts of package.json. */
  readonly scripts: Readonly<Record<string, string>>;
  /** Runs once, after the build. */
  readonly release: string | undefined;
  readonly start: string | undefined;
  /** Whether `start` is a development server, which the result of the build replaces. */
  readonly isDevelopment: boolean;
  /** The further lines of the Procfile. */
  readonly workers: Worker[];
  readonly schedules: Schedule[];
  /** The folder of a static site. Without it and without `start`, one is looked for after the build. */
  readonly folder: string | undefined;
  /** The file that answers unknown paths of a static site. */
  readonly fallback: string | undefined;
  /** Without that setting: the folders whose `index.html` answers unknown paths. */
  readonly singlePages: readonly string[];
  readonly health: string;
  /** The port that the app listens on; undefined if it reads PORT. */
  readonly port: number | undefined;
  readonly runtime: "process" | "engine" | undefined;
  /** Whether something says which packages it needs. */
  readonly hasInstalled: boolean;
  /** Variables that the language needs in a running app. */
  readonly variables: Readonly<Record<string, string>>;
  readonly hasDockerfile: boolean;
  /** The sources of the parts. */
  readonly found: readonly string[];
}

/** Reads what a repository says about its build and start (fixtures/hosting/apps.md#what-is-run). */
export function detect(root: string, top = root): Plan {
  const [own, packages, procfile] = ["svc.json", "package.json", "Procfile"].map((name) => readWithin(root, name));
  const given = ownSettings(root);
  const processes = processesIn(procfile ?? "");
  const node = packages === undefined ? undefined : nodeApp(root, packages, top);
  const chosen = given.start ?? (given.static === undefined ? processes.get("web") : undefined);
  const isNode = chosen === undefined && (given.static !== undefined || node?.start !== undefined);
  // What starts by itself, or makes a static site, needs no language after it; a Procfile may name programs of all.
  const python = isNode ? undefined : pythonApp(root);
  const isPython = chosen === undefined && procfile === undefined && python?.start !== undefined;
  const others = [python, isNode || isPython ? undefined : goApp(root)].filter((one) => one !== undefined);
  const start =
    chosen ?? (given.static === undefined ? (node?.start ?? others.find((one) => one.start)?.start) : undefined);
  const build = given.build ?? node?.build;
  return {
    steps: [
      ...(node?.install ?? []),
      ...others.flatMap(({ steps }) => steps),
      ...(build === undefined ? [] : [{ name: "Building", command: build }]),
    ],
    node: node?.node,
    manager: node?.manager,
    prune: node?.prune,
    scripts: node?.scripts ?? {},
    release: processes.get("release"),
    start,
    isDevelopment: chosen === undefined && node?.isDevelopment === true,
    workers: workersIn(processes),
    schedules: given.schedules,
    folder: given.static,
    fallback: given.fallback,
    singlePages: node?.singlePages ?? [],
    health: given.health ?? "/",
    port: given.port,
    runtime: given.runtime,
    hasInstalled: node !== undefined || others.length > 0,
    // Otherwise Python buffers its output, and the log gets it late.
    variables: others.some(({ name }) => name === "Python") ? { PYTHONUNBUFFERED: "1" } : {},
    hasDockerfile: existsSync(join(root, "Dockerfile")),
    found: [
      ...[own, packages, procfile].flatMap((text, i) =>
        text === undefined ? [] : (["svc.json", "package.json", "Procfile"][i] ?? []),
      ),
      ...others.map(({ found }) => found),
    ],
  };
}
