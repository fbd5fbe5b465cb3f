import type { Schedule } from "../../drivers/deployment/contract.ts";
import { hasWithin, ownSettings, settingsWithin } from "../runtime/app-settings.ts";
import { processesIn, workersIn } from "../runtime/procfile.ts";
import type { Worker } from "../runtime/workers.ts";
import type { Step } from "./build-steps.ts";
import { developmentServerIn } from "./development-server.ts";
import { goApp } from "./go-app.ts";
import { nodeApp } from "./node-app.ts";
import { otherLanguage } from "./other-languages.ts";
import { pythonApp } from "./python-app.ts";
import type { Wanted } from "./wanted-versions.ts";

/** The commands and folders that a repository requests. */
export interface Plan {
  readonly steps: readonly Step[];
  /** The requested version of Node. */
  readonly node: Wanted | undefined;
  /** The requested versions of other languages. */
  readonly languages: readonly Wanted[];
  /** The package manager for the install. */
  readonly manager: Wanted | undefined;
  /** The command that removes development dependencies after the build. */
  readonly prune: string | undefined;
  /** The `scripts` of package.json. */
  readonly scripts: Readonly<Record<string, string>>;
  /** A command that runs once after the build. */
  readonly release: string | undefined;
  readonly start: string | undefined;
  /** The development server that `start` runs. The result of the build replaces it. */
  readonly developmentServer: string | undefined;
  /** The other lines of the Procfile. */
  readonly workers: Worker[];
  readonly schedules: Schedule[];
  /** The folder of a static site. Without it and without `start`, a folder is searched after the build. */
  readonly folder: string | undefined;
  /** The file of a static site that answers unknown paths. */
  readonly fallback: string | undefined;
  /** Without `fallback`: the folders whose `index.html` answers unknown paths, also of the folders below them. */
  readonly singlePages: readonly string[];
  /** Whether `public/index.html` is a source, such as the template of a page. */
  readonly hasPublicPage: boolean;
  /** The path of `svc.json`. */
  readonly health: string | undefined;
  /** The port that the app listens on; undefined if it reads PORT. */
  readonly port: number | undefined;
  readonly runtime: "process" | "engine" | undefined;
  /** Whether some file lists the required packages. */
  readonly hasInstalled: boolean;
  /** Variables that the language needs at run time. */
  readonly variables: Readonly<Record<string, string>>;
  readonly hasDockerfile: boolean;
  /** Why a repository of a language that is not built here does not run. */
  readonly otherLanguage: string | undefined;
  /** The names of the detected files. */
  readonly found: readonly string[];
}

/** Detects from a repository how to build and start it (fixtures/hosting/apps.md#what-is-run). */
export function detect(root: string, top = root): Plan {
  const [own, packages, procfile] = ["svc.json", "package.json", "Procfile"].map((name) => settingsWithin(root, name));
  const given = ownSettings(root);
  const processes = processesIn(procfile ?? "");
  const node = packages === undefined ? undefined : nodeApp(root, packages, top);
  const chosen = given.start ?? (given.static === undefined ? processes.get("web") : undefined);
  const isNode = chosen === undefined && (given.static !== undefined || node?.start !== undefined);
  // With a Node start script or a static site, no other language is needed. A Procfile may start programs of any
  // language.
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
    languages: others.flatMap(({ wanted }) => wanted ?? []),
    manager: node?.manager,
    prune: node?.prune,
    scripts: node?.scripts ?? {},
    release: processes.get("release"),
    start,
    developmentServer: start === undefined ? undefined : developmentServerIn(start, node?.scripts ?? {}),
    workers: workersIn(processes),
    schedules: given.schedules,
    folder: given.static,
    fallback: given.fallback,
    singlePages: node?.singlePages ?? [],
    hasPublicPage: hasWithin(root, "public/index.html"),
    health: given.health,
    port: given.port,
    runtime: given.runtime,
    hasInstalled: node !== undefined || others.length > 0,
    // Otherwise Python buffers its output, which the log then receives late, and keeps compiled files that end with it.
    variables: others.some(({ name }) => name === "Python")
      ? { PYTHONUNBUFFERED: "1", PYTHONDONTWRITEBYTECODE: "1" }
      : {},
    hasDockerfile: hasWithin(root, "Dockerfile"),
    otherLanguage: otherLanguage(root),
    found: [
      ...[own, packages, procfile].flatMap((text, i) =>
        text === undefined ? [] : (["svc.json", "package.json", "Procfile"][i] ?? []),
      ),
      ...others.map(({ found }) => found),
    ],
  };
}
