import { existsSync } from "node:fs";
import { join } from "node:path";

interface Manager {
  readonly locks: readonly string[];
  /** Installs exactly what the lock file lists. Development dependencies come too, whatever NODE_ENV is. */
  readonly frozen: string;
  readonly unlocked: string;
}

const npm = "--include=dev --no-audit --no-fund --prefer-offline";

/** The package managers; where several lock files lie side by side, the first one's counts. */
const managers = {
  npm: {
    locks: ["package-lock.json", "npm-shrinkwrap.json"],
    frozen: `npm ci ${npm}`,
    unlocked: `npm install ${npm}`,
  },
  pnpm: {
    locks: ["pnpm-lock.yaml"],
    // npm would warn about a variable for it.
    frozen: 'pnpm install --frozen-lockfile --prod=false --store-dir "$XDG_CACHE_HOME/pnpm"',
    unlocked: 'pnpm install --prod=false --store-dir "$XDG_CACHE_HOME/pnpm"',
  },
  yarn: {
    locks: ["yarn.lock"],
    frozen:
      'case "$(yarn --version)" in 1.*) yarn install --frozen-lockfile --production=false ;; *) yarn install --immutable ;; esac',
    unlocked:
      'case "$(yarn --version)" in 1.*) yarn install --production=false ;; *) yarn install --no-immutable ;; esac',
  },
  bun: {
    locks: ["bun.lock", "bun.lockb"],
    frozen: "bun install --frozen-lockfile",
    unlocked: "bun install",
  },
} as const satisfies Readonly<Record<string, Manager>>;
type Name = keyof typeof managers;

const isName = (name: string): name is Name => Object.hasOwn(managers, name);

/** An install: its command, and the program without which it cannot run. */
export interface Install {
  readonly command: string;
  readonly program: string;
}

/** The install of a package's dependencies. `chosen` is the field `packageManager`, such as `pnpm@10.1.0`. */
export function installOf(root: string, chosen: string | undefined): Install {
  const has = (name: Name) => managers[name].locks.some((lock) => existsSync(join(root, lock)));
  const [named = ""] = chosen?.split("@", 1) ?? [];
  const locked = (Object.keys(managers) as Name[]).filter(has);
  const program = isName(named) && (has(named) || locked.length === 0) ? named : (locked[0] ?? "npm");
  const { frozen, unlocked } = managers[program];
  return { program, command: has(program) ? frozen : unlocked };
}

/** What package managers are told: their caches outlast a build, and packages lie in the release itself. */
export const installVariables = (cache: string): Record<string, string> => ({
  npm_config_cache: `${cache}/npm`,
  YARN_CACHE_FOLDER: `${cache}/yarn`,
  // A release that read its packages from a cache would end with it.
  YARN_NODE_LINKER: "node-modules",
  YARN_ENABLE_GLOBAL_CACHE: "false",
  YARN_ENABLE_TELEMETRY: "0",
  BUN_INSTALL_CACHE_DIR: `${cache}/bun`,
  GOPATH: `${cache}/go`,
  // The cache can be emptied.
  GOFLAGS: "-modcacherw",
  XDG_CACHE_HOME: cache,
});
