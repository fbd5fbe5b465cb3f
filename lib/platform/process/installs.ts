import { dirname } from "node:path";
import * as v from "valibot";
import { isInRange } from "../../kernel/text/version-range.ts";
import { beginningWithin, hasWithin, settingsWithin } from "../runtime/app-settings.ts";
import { Failure } from "../runtime/failure.ts";
import type { Wanted } from "./wanted-versions.ts";

const npm = "--include=dev --no-audit --no-fund --prefer-offline";
/** Flags, because npm warns about such variables. The second flag prevents a question, which a build cannot answer. */
const pnpmStore = '--store-dir "$XDG_CACHE_HOME/pnpm" --config.confirm-modules-purge=false';

/**
 * The package managers. If a folder has several lock files, the first match in this order wins. `frozen` installs the
 * locked versions with development dependencies, whatever NODE_ENV is; `prune` removes those, without running scripts.
 */
const managers = {
  npm: {
    locks: ["package-lock.json", "npm-shrinkwrap.json"],
    frozen: `npm ci ${npm}`,
    unlocked: `npm install ${npm}`,
    prune: "npm prune --omit=dev --ignore-scripts --no-audit --no-fund --prefer-offline",
  },
  pnpm: {
    locks: ["pnpm-lock.yaml"],
    frozen: `pnpm install --frozen-lockfile --prod=false ${pnpmStore}`,
    unlocked: `pnpm install --prod=false ${pnpmStore}`,
    // pnpm 8 does not accept these as flags of `prune`. With another store, it would fetch every package again.
    prune:
      'pnpm prune --prod --config.ignore-scripts=true --config.store-dir="$XDG_CACHE_HOME/pnpm" --config.confirm-modules-purge=false',
  },
  yarn: {
    locks: ["yarn.lock"],
    frozen:
      'case "$(yarn --version)" in 1.*) yarn install --frozen-lockfile --production=false ;; *) yarn install --immutable ;; esac',
    unlocked:
      'case "$(yarn --version)" in 1.*) yarn install --production=false ;; *) yarn install --no-immutable ;; esac',
    prune:
      'case "$(yarn --version)" in 1.*) yarn install --frozen-lockfile --production --ignore-scripts --prefer-offline ;; *) YARN_ENABLE_SCRIPTS=0 yarn workspaces focus --production ;; esac',
  },
  bun: {
    locks: ["bun.lock", "bun.lockb"],
    frozen: "bun install --frozen-lockfile",
    unlocked: "bun install",
    // Bun cannot prune, so this installs again without development dependencies.
    prune:
      "mv node_modules .svc/before && { bun install --frozen-lockfile --production --ignore-scripts || { rm -rf node_modules; mv .svc/before node_modules; exit 1; }; } && rm -rf .svc/before",
  },
} as const;
type Name = keyof typeof managers;

const isName = (name: string): name is Name => Object.hasOwn(managers, name);

/** The package manager versions that can read a lock file, and the version to fetch. */
function versionsOf(root: string, program: Name): Omit<Wanted, "name"> {
  const any = (from: string) => ({ range: "*", fetches: "latest", from });
  const read = (name: string) => beginningWithin(root, name);
  if (program === "pnpm") {
    const [lock] = managers.pnpm.locks;
    const major = Number(/^lockfileVersion: '?(\d+)/m.exec(read(lock))?.[1] ?? 9);
    // pnpm 9 and later write the same lock file format.
    if (major >= 9) return { range: ">=9", fetches: "10", from: lock };
    const version = major === 6 ? "8" : "7";
    return { range: version, fetches: version, from: lock };
  }
  if (program !== "yarn") return any(program === "bun" ? "its lock file" : "package.json");
  // The repository contains its own yarn; yarn 1 delegates to it.
  if (/^yarnPath:/m.test(read(".yarnrc.yml"))) return { range: "*", fetches: "1", from: ".yarnrc.yml" };
  const [lock] = managers.yarn.locks;
  const form = /^__metadata:\s+version: (\d+)/m.exec(read(lock))?.[1];
  const version = form === undefined ? "1" : Number(form) >= 7 ? "4" : Number(form) >= 5 ? "3" : "2";
  return { range: version, fetches: version, from: lock };
}

const workspaceManifest = v.object({ workspaces: v.optional(v.unknown()), packageManager: v.optional(v.unknown()) });

function manifestAt(folder: string) {
  try {
    return v.parse(workspaceManifest, JSON.parse(settingsWithin(folder, "package.json") ?? "{}"));
  } catch (error) {
    if (error instanceof Failure) throw error;
    return {}; // The app's own package.json is validated elsewhere.
  }
}

/** The workspace that a package may belong to: the nearest one at or above its folder, within the repository. */
export function workspaceOf(root: string, top: string): string | undefined {
  const isWorkspace = manifestAt(root).workspaces !== undefined || hasWithin(root, "pnpm-workspace.yaml");
  if (isWorkspace) return root;
  return root === top ? undefined : workspaceOf(dirname(root), top);
}

/**
 * The install of a package. `given` is the field `packageManager`, such as `pnpm@10.1.0`, and `npm` the npm of
 * `engines`. Without a lock file, a package uses its workspace's.
 */
export function installOf(own: string, given: string | undefined, top = own, npm?: string) {
  const isLocked = Object.values(managers).some(({ locks }) => locks.some((lock) => hasWithin(own, lock)));
  const root = isLocked ? own : (workspaceOf(own, top) ?? own);
  const { packageManager } = manifestAt(root);
  const chosen = given ?? (typeof packageManager === "string" ? packageManager : undefined);
  const has = (name: Name) => managers[name].locks.some((lock) => hasWithin(root, lock));
  const [, named = "", exact] = /^([a-z]+)(?:@(\d+\.\d+\.\d+)(?:[-+].*)?)?$/.exec(chosen ?? "") ?? [];
  const locked = (Object.keys(managers) as Name[]).filter(has);
  const program = isName(named) && (has(named) || locked.length === 0) ? named : (locked[0] ?? "npm");
  const { frozen, unlocked, prune } = managers[program];
  const asked =
    program === named && exact !== undefined && isInRange(exact, exact)
      ? { range: exact, fetches: exact, from: "packageManager of package.json" }
      : program === "npm" && npm !== undefined && isInRange("0.0.0", npm) !== undefined
        ? { range: npm, fetches: npm, from: "engines of package.json" }
        : versionsOf(root, program);
  return {
    program,
    command: has(program) ? frozen : unlocked,
    prune,
    wanted: { name: program, ...asked } satisfies Wanted,
  };
}

/** Settings for package managers: a cache outlives a build, and packages are copied from it into the release. */
export const installVariables = (cache: string): Record<string, string> => ({
  npm_config_cache: `${cache}/npm`,
  YARN_CACHE_FOLDER: `${cache}/yarn`,
  // A release must not depend on the cache, because the cache may be emptied.
  YARN_NODE_LINKER: "node-modules",
  YARN_ENABLE_GLOBAL_CACHE: "false",
  YARN_ENABLE_TELEMETRY: "0",
  BUN_INSTALL_CACHE_DIR: `${cache}/bun`,
  GOPATH: `${cache}/go`,
  // Makes the module cache deletable.
  GOFLAGS: "-modcacherw",
  XDG_CACHE_HOME: cache,
});
