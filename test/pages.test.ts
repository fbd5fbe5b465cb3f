import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { parseSync } from "oxc-parser";
import { inputOf, operationOf } from "../bin/call-fields.ts";
import { main } from "../bin/commands.ts";
import type { Command } from "../bin/define-command.ts";
import { parseOptions } from "../lib/config/parse-options.ts";
import { schedulesIn } from "../lib/platform/runtime/app-settings.ts";

const pages = ["README.md", ".github/CONTRIBUTING.md", "fixtures/recipes/README.md"].concat(
  ["schema", "fixtures/hosting"].flatMap((folder) =>
    readdirSync(folder).flatMap((name) => (name.endsWith(".md") ? [`${folder}/${name}`] : [])),
  ),
);
/** The code blocks of all pages in some languages, each with its place. */
const blocks = (languages: RegExp) =>
  pages.flatMap((page) =>
    [...readFileSync(page, "utf8").matchAll(/^```(\w+)\n([\s\S]*?)^```/gm)].flatMap(
      ([block, language = "", text = ""], i) =>
        languages.test(language) ? [{ place: `${page}, block ${i + 1}`, language, text, block }] : [],
    ),
  );

/** The words after the last `svc-server` of each command in a shell script, split as a shell would. */
function invocations(script: string): string[][] {
  const lines = script.replaceAll(/\\\n(> )?\s*/g, " ").split("\n");
  const commands = lines.flatMap((line) => line.replace(/ +#.*/, "").split(/\$\(|&&|[|;]/));
  return commands.flatMap((command) => {
    const [, given] = /(?:^|.*\s)svc-server(?:$|\s+(.*))/.exec(command) ?? [];
    if (given === undefined) return [];
    const words = given.replace(/\)[^)]*$/, "").replace(/(^|\s)[<>].*/, "");
    return [(words.match(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g) ?? []).map((word) => word.replaceAll(/['"]/g, ""))];
  });
}

/** Checks a command's words like the program does before it runs anything. */
async function check(given: readonly string[]): Promise<void> {
  let [command, words]: [Command, string[]] = [main, [...given]];
  for (let depth = 0; words[0] !== undefined && !words[0].startsWith("-") && command.list; depth++) {
    const below = command.list[words[0]];
    // `svc-server clock` without a subcommand shows the clock.
    assert.ok(below ?? depth > 0, `there is no command ${given.join(" ")}`);
    if (!below) break;
    command = typeof below.load === "function" ? await below.load() : below.load;
    words = words.slice(1);
  }
  const own = words.includes("--") ? words.slice(0, words.indexOf("--") + 2) : words;
  command.setup?.({ rawArgs: own } as never);
  if (given[0] !== "call") return;
  const fields = words.filter((word, i) => !word.startsWith("--") && words[i - 1] !== "--field");
  if (words.includes("--help") || fields.some((word) => word.startsWith("body=@"))) return;
  const [id = "", ...rest] = fields;
  inputOf(operationOf(id), rest);
}

test("every command on a page has its name, its flags and its fields", async (t) => {
  let checked = 0;
  for (const { place, text } of blocks(/^(sh|console)$/)) {
    for (const words of invocations(text.replaceAll(/^[$>] /gm, ""))) {
      checked += 1;
      await assert.doesNotReject(check(words), `${place}: svc-server ${words.join(" ")}`);
    }
  }
  t.diagnostic(`${checked} commands`);
  assert.ok(checked > 60, `${checked} commands`);
  await assert.rejects(check(["start", "--prot", "1"]), /unknown option --prot/);
  await assert.rejects(check(["call", "projects.create", "nmae=web"]), /no field nmae/);
  await assert.rejects(check(["strat"]), /no command/);
});

/** Checks a JSON block like its reader: the options, an app's settings, or an editor that starts a command. */
async function checkJson(block: Readonly<Record<string, unknown>>): Promise<void> {
  const { dashboard, servers, mcpServers, context_servers, schedules } = block;
  const editor = servers ?? mcpServers ?? context_servers;
  const oidc = "issuer" in block ? block : (dashboard as { oidc: object } | undefined)?.oidc;
  if (editor) {
    const [{ args = [] } = {}] = Object.values(editor as Record<string, { args?: string[] }>);
    await check(args.filter((word) => word !== "svc-server"));
  } else if (schedules) schedulesIn("svc.json", JSON.stringify(schedules));
  else if (oidc) {
    // The secret comes from a variable.
    const whole = { organization: "acme", clientSecret: "of-the-issuer", ...oidc };
    parseOptions({
      publicUrl: "https://svc.example.com",
      ...("issuer" in block ? {} : block),
      dashboard: { oidc: whole },
    });
  } else if (!("level" in block)) parseOptions({ mode: "start", ...block });
}

test("every block of JSON on a page is one that its reader takes", async () => {
  for (const { place, text } of blocks(/^json$/))
    await assert.doesNotReject(async () => checkJson(JSON.parse(text)), place);
  await assert.rejects(checkJson({ generations: { backends: { local: { type: "sdcp" } } } }));
  await assert.rejects(checkJson({ issuer: "login.example.com", clientId: "svc-server" }));
});

test("every block of JavaScript on a page can be read", () => {
  // A block may show several files, each with a default export.
  for (const { place, language, text } of blocks(/^(js|ts)$/))
    assert.deepEqual(parseSync(`page.${language}`, text.replaceAll(/^export default /gm, "void ")).errors, [], place);
});
