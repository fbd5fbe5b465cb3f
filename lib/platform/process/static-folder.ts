import { ownProgram } from "../../kernel/node/own-program.ts";
import { quoted, shellCommand } from "../../kernel/text/shell-words.ts";
import { Failure } from "../runtime/failure.ts";
import type { Plan } from "./detect.ts";

const nothingFound = (places: readonly string[]) =>
  `nothing to run was found: neither svc.json with start or static, nor a Procfile with web, nor package.json with a start script, main or server.js, nor requirements.txt or pyproject.toml with main.py or app.py, nor go.mod, nor a Dockerfile (for the runtime engine), nor a static folder with index.html (${places.join(", ").replace(/, \.$/, " or the top")})`;

/** Runs a script in the build's box, where links can only lead to files of the box. */
type Look = (script: string) => Promise<string>;

/** Output folders. After a build they come first, because the sources may contain an index.html too. */
const written = ["dist", "build", "out", "_site"];
const writtenBelow = [
  ".output/public",
  ...[".vitepress/dist", "docs/.vitepress/dist", ".vuepress/dist", "docs/.vuepress/dist"],
  ...["www", "dist/*/browser", "dist/*/public", "dist/*", "build/*"],
];

async function find(look: Look, places: readonly string[]): Promise<string | undefined> {
  const tests = places.map((place) => `[ -f ${quoted(`./${place}`)} ] && echo ${quoted(place)} && exit`);
  const first = (await look([...tests, "true"].join("\n"))).trim();
  return places.find((place) => place === first);
}

/** Finds the first folder with an index.html. A pattern counts only if exactly one folder fits. */
async function findFolder(look: Look, folders: readonly string[]): Promise<string | undefined> {
  const page = "/index.html";
  const tests = folders.map(
    (folder) => `set -- ${folder}${page}; [ $# = 1 ] && [ -f "./$1" ] && printf '%s\\n' "$1" && exit`,
  );
  const [found = ""] = (await look([...tests, "true"].join("\n"))).split("\n", 1);
  return found.endsWith(page) ? found.slice(0, -page.length) : undefined;
}

/** Lists folders below the top that may contain an app. */
const below = [
  "for file in */package.json */*/package.json */go.mod */requirements.txt */pyproject.toml */Procfile */svc.json */index.html",
  'do [ ! -f "$file" ] || dirname "$file"; done | sort -u | grep -v "^node_modules/" | head -n 10',
].join("\n");

/** Build outputs that cannot run here, each with its platform. */
const elsewhere = {
  ".vercel/output/config.json": "Vercel",
  ".netlify/functions-internal/.gitkeep": "Netlify",
  "netlify/functions/server.mjs": "Netlify",
  ".svelte-kit/cloudflare/_worker.js": "Cloudflare",
  "dist/_worker.js/index.js": "Cloudflare",
  ".svelte-kit/output/server/index.js": "no platform, because adapter-auto knows none here",
} as const satisfies Readonly<Record<string, string>>;

async function nothingIn({ hasDockerfile, otherLanguage }: Plan, places: readonly string[], look: Look) {
  const nothing = nothingFound(places);
  if (hasDockerfile)
    return `${nothing}; its Dockerfile needs the runtime engine, which is not among deployments.runtime`;
  const output = await find(look, Object.keys(elsewhere));
  if (output !== undefined)
    return `the build wrote ${output}, which is for ${elsewhere[output as keyof typeof elsewhere]}: use the adapter of the framework for Node, such as @sveltejs/adapter-node, @astrojs/node or the Nitro preset node-server, or the one for static sites`;
  if (otherLanguage !== undefined) return otherLanguage;
  const [first, ...others] = (await look(below)).split("\n").filter((folder) => folder !== "");
  if (first === undefined) return nothing;
  return `${nothing}. There may be apps in ${[first, ...others].join(", ")}: set root of an environment to one of them, as in \`svc-server call environments.put id=PROJECT name=production root=${first}\`, with an environment for each app; or name its commands in svc.json at the top, such as {"start":"npm start --prefix ${first}"}`;
}

async function staticFolder(plan: Plan, look: Look): Promise<string> {
  const { folder, steps } = plan;
  if (folder !== undefined) {
    if ((await find(look, [`${folder}/index.html`])) !== undefined) return folder;
    throw new Failure(`the static folder ${folder} of svc.json has no index.html after the build`);
  }
  const places = steps.length > 0 ? [...written, ...writtenBelow, "public", "."] : ["public", ...written, "."];
  const site = await findFolder(look, places);
  if (site !== undefined) return site;
  throw new Failure(await nothingIn(plan, places, look));
}

type Served = { readonly start: string } | { readonly folder: string };

/**
 * Lists the programs that Nest, or Nx and Angular with a folder per project, have built. A script beside a page is for
 * browsers.
 */
const programs = [
  "list() { for file; do",
  '[ ! -f "$file" ] || [ -f "$(dirname "$file")/index.html" ] || printf "%s\\n" "$file"; done; }',
  "list dist/main.js dist/src/main.js | grep -m 1 . && exit",
  "list dist/*/main.js dist/apps/*/main.js dist/*/server/server.mjs",
].join("\n");

/**
 * Servers that frameworks build for Node, each with a file that only such a build has: Nitro (Nuxt, TanStack Start),
 * SvelteKit, Astro, and Next without a static export.
 */
const servers: Readonly<Record<string, string | undefined>> = {
  ".output/server/index.mjs": "node .output/server/index.mjs",
  "build/handler.js": "node build/index.js",
  "dist/server/entry.mjs": "node dist/server/entry.mjs",
  "out/index.html": undefined,
  ".next/BUILD_ID": "next start",
};

async function findServer(look: Look): Promise<string | undefined> {
  const file = await find(look, Object.keys(servers));
  return file === undefined ? undefined : servers[file];
}

/** Decides after the build what to run. The result of the build replaces a development server. */
export async function served(plan: Plan, look: Look): Promise<Served> {
  const { start, developmentServer } = plan;
  if (start !== undefined && developmentServer === undefined) return { start };
  const isBuilt = plan.folder === undefined && plan.steps.length > 0;
  const server = isBuilt ? await findServer(look) : undefined;
  if (server !== undefined) return { start: server };
  if (start === undefined) return { folder: await staticFolder(plan, look) };
  const [program, ...others] = (await look(programs)).split("\n").filter((line) => line !== "");
  if (program !== undefined && others.length === 0) return { start: `node ${quoted(program)}` };
  const folder = await findFolder(look, [...written, ...writtenBelow, ...(plan.hasPublicPage ? [] : ["public"])]);
  if (folder !== undefined) return { folder };
  throw new Failure(
    `${developmentServer} is a development server, which never goes live, and ${plan.steps.some(({ name }) => name === "Building") ? "the build left" : "package.json has no script build, and there is"} neither a site (index.html in ${[...written, ...writtenBelow].join(", ")} or public) nor a known server: in svc.json, name the command that builds as build, and the folder that it writes as static, or the program that serves it as start`,
  );
}

/** The file that answers unknown paths: by default the index.html of a single-page app without a 404 page. */
export async function fallbackOf({ fallback, singlePages }: Plan, folder: string, look: Look): Promise<string | null> {
  if (fallback !== undefined) {
    if ((await find(look, [`${folder}/${fallback}`])) !== undefined) return fallback;
    throw new Failure(`the fallback ${fallback} of svc.json is not in the static folder ${folder}`);
  }
  const isOwn =
    singlePages.some((one) => folder === one || folder.startsWith(`${one}/`)) &&
    (await find(look, [`${folder}/404.html`])) === undefined;
  return isOwn ? "index.html" : null;
}

/** A script that removes everything but one folder, unless that contains links, which may lead to the rest. */
export function keepFolder(folder: string): string {
  const parts = folder.split("/").filter((part) => part !== "" && part !== ".");
  const path = quoted(`./${parts.join("/")}`);
  return [
    `[ "$(realpath -- ${path})" = "$PWD"${quoted(parts.map((part) => `/${part}`).join(""))} ] || exit 0`,
    `[ -z "$(find ${path} -type l -print -quit)" ] || exit 0`,
    ...parts.flatMap((part) => [
      `find . -mindepth 1 -maxdepth 1 ! -name ${quoted(part.replace(/[*?[\]\\]/g, "\\$&"))} -exec rm -rf {} + || true`,
      `cd ${quoted(`./${part}`)}`,
    ]),
  ].join("\n");
}

/** The program of static sites with these arguments, and the files outside of a release that it reads. */
export function siteProgram(...args: readonly string[]): { command: string; reads: readonly string[] } {
  const { command, reads } = ownProgram("static-server", import.meta.url, "../box/static-server.ts");
  return { command: shellCommand([...command, ...args]), reads };
}
