import { hasWithin, ownSettings, settingsWithin } from "../runtime/app-settings.ts";
import { processesIn, workersIn } from "../runtime/procfile.ts";
import type { Step } from "./build-steps.ts";
import { developmentServerIn } from "./development-server.ts";
import { goApp } from "./go-app.ts";
import { nodeApp } from "./node-app.ts";
import { otherLanguage } from "./other-languages.ts";
import { pythonApp } from "./python-app.ts";

/** The commands and folders that a repository requests. */
export type Plan = Readonly<ReturnType<typeof detect>>;

/** Detects from a repository how to build and start it (fixtures/hosting/apps.md#what-is-run). */
export function detect(root: string, top = root) {
  const [svc, packages, procfile] = ["svc.json", "package.json", "Procfile"].map((name) => settingsWithin(root, name));
  const settings = ownSettings(root);
  const processes = processesIn(procfile ?? "");
  const node = packages === undefined ? undefined : nodeApp(root, packages, top);
  const chosen = settings.start ?? (settings.static === undefined ? processes.get("web") : undefined);
  const isNode = chosen === undefined && (settings.static !== undefined || node?.start !== undefined);
  // A Node start or a static site needs no other language. A Procfile may start programs of any language.
  const python = isNode ? undefined : pythonApp(root);
  const isPython = chosen === undefined && procfile === undefined && python?.start !== undefined;
  const others = [python, isNode || isPython ? undefined : goApp(root)].filter((one) => one !== undefined);
  const start =
    chosen ?? (settings.static === undefined ? (node?.start ?? others.find((one) => one.start)?.start) : undefined);
  const build = settings.build ?? node?.build;
  const steps: Step[] = [
    ...(node?.install ?? []),
    ...others.flatMap((one) => one.steps),
    ...(build === undefined ? [] : [{ name: "Building", command: build }]),
  ];
  // Otherwise Python buffers its output, so the log gets it late, and writes compiled files that no later start uses.
  const ofPython = { PYTHONUNBUFFERED: "1", PYTHONDONTWRITEBYTECODE: "1" };
  const variables: Record<string, string> = others.some(({ name }) => name === "Python") ? ofPython : {};
  const files = { "svc.json": svc, "package.json": packages, Procfile: procfile };
  return {
    steps,
    start,
    /** The development server that `start` runs. The result of the build replaces it. */
    developmentServer: start === undefined ? undefined : developmentServerIn(start, node?.scripts ?? {}),
    /** A command that runs once after the build. */
    release: processes.get("release"),
    /** The other lines of the Procfile. */
    workers: workersIn(processes),
    schedules: settings.schedules,
    /** The folder of a static site. Without it and without `start`, a folder is searched after the build. */
    folder: settings.static,
    /** The file of a static site that answers unknown paths. */
    fallback: settings.fallback,
    /** Without `fallback`: the folders whose `index.html` answers unknown paths, also of the folders below them. */
    singlePages: node?.singlePages ?? [],
    /** Whether `public/index.html` is a source, such as the template of a page. */
    hasPublicPage: hasWithin(root, "public/index.html"),
    health: settings.health,
    /** The port that the app listens on; undefined if it reads PORT. */
    port: settings.port,
    runtime: settings.runtime,
    /** The requested versions of Node, of its package manager, and of other languages. */
    node: node?.node,
    manager: node?.manager,
    languages: others.flatMap(({ wanted }) => wanted ?? []),
    /** The command that removes development dependencies after the build. */
    prune: node?.prune,
    scripts: node?.scripts ?? {},
    /** Whether some file lists the required packages. */
    hasInstalled: node !== undefined || others.length > 0,
    variables,
    hasDockerfile: hasWithin(root, "Dockerfile"),
    /** The reason why the repository does not run, if it is in a language that is not built here. */
    otherLanguage: otherLanguage(root),
    found: [
      ...Object.entries(files).flatMap(([name, text]) => (text === undefined ? [] : [name])),
      ...others.map(({ found }) => found),
    ],
  };
}
