import { resolve } from "node:path";
import { parseEnv } from "node:util";
import type { ArgsDef } from "citty";
import type { Client } from "../lib/client.ts";
import { didYouMean } from "../lib/kernel/text/did-you-mean.ts";
import { pathOf, readText } from "../lib/kernel/text/paths.ts";
import { UsageError } from "./arguments.ts";
import { connectionArgs, connectionOf, withClient } from "./connection.ts";
import { command, flag, type Given, listed, option, parent, word } from "./define-command.ts";
import { sayResult } from "./output.ts";
import { projectOf, requireProject } from "./project-name.ts";

type Variables = Awaited<ReturnType<Client["environments"]["list"]>>["data"][number]["variables"];
type Changes = Record<string, string | null | { readonly value: string; readonly secret: true }>;

const environmentArgs: ArgsDef = {
  project: option("The name or id of the project (the name of the current folder).", "NAME"),
  environment: option("The environment (production).", "NAME"),
  ...connectionArgs,
};

async function open(client: Client, args: Given) {
  const { id, name: project } = await requireProject(
    client,
    projectOf(resolve("."), args["project"], "--project"),
    "--project",
  );
  const name = String(args["environment"] ?? "production");
  let variables: Variables = {};
  for await (const one of client.paginate(client.environments.list, { id, per_page: 100 }))
    if (one.name === name) variables = one.variables;
  return { id, name, variables, title: `${name} of ${project}` };
}
type Open = Awaited<ReturnType<typeof open>>;

const onVariables = (
  name: string,
  description: string,
  more: ArgsDef,
  run: (args: Given, opened: () => Promise<Open>, client: Client) => Promise<void>,
  options: { readonly anyWords?: boolean } = {},
) =>
  command(
    name,
    description,
    { ...more, ...environmentArgs },
    (args) => withClient(connectionOf(args), (client) => run(args, () => open(client, args), client)),
    options,
  );

/** A word without the value, which may be a secret. */
const shownWord = (word: string) => JSON.stringify(word.replace(/=.*/s, "=…"));

const isSecret = (value: Variables[string] | undefined) => typeof value === "object";

/** `A, B and C` */
const joined = (names: readonly string[]) => names.join(", ").replace(/, ([^,]*)$/, " and $1");

async function change(args: Given, { id, name, title }: Open, client: Client, variables: Changes, done: string) {
  const after = await client.environments.update({ id, name, variables });
  sayResult(args, after.variables, `${done} ${title}. The next deployment and the next restart use the change.`);
}

/** A variable is stored as a secret with `--secret`, if its name ends with `@`, or if it is a secret already. */
async function set(args: Given, opened: Open, client: Client, given: Readonly<Record<string, string>>) {
  const changes: Changes = {};
  for (const [word, value] of Object.entries(given)) {
    const name = word.replace(/@$/, "");
    const secret = args["secret"] === true || name !== word || isSecret(opened.variables[name]);
    changes[name] = secret ? { value, secret } : value;
  }
  const names = Object.entries(changes).map(([name, value]) => (typeof value === "string" ? name : `${name} (secret)`));
  await change(args, opened, client, changes, `Set ${joined(names)} in`);
}

function read(file: string): Record<string, string> {
  const reasons: Record<string, string> = { ENOENT: "there is no such file", EISDIR: "it is a folder" };
  let text: string;
  try {
    text = readText(pathOf(file));
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException;
    throw new Error(`${file} cannot be read: ${reasons[code] ?? message}`);
  }
  if (/[\0\ufffd]/.test(text)) throw new Error(`${file} is not UTF-8 text`);
  const lines = parseEnv(text) as Record<string, string>;
  if (Object.keys(lines).length === 0) throw new Error(`${file} has no line NAME=VALUE`);
  return lines;
}

const list = onVariables("list", "The values of secrets are not shown.", {}, async (args, opened) => {
  const { variables, title } = await opened();
  const lines = Object.entries(variables).map(([name, value]) => {
    const text = typeof value === "string" ? value : "(secret)";
    return `${name}=${/^[\w./:@%+,()-]*$/.test(text) ? text : JSON.stringify(text)}`;
  });
  sayResult(args, variables, lines.sort().join("\n") || `${title} has no variables`);
});

const setCommand = onVariables(
  "set",
  "All others stay as they are. TOKEN@=VALUE stores a secret, whose value no answer shows. A variable that is a secret stays one. Other users can see your command line; for secrets use svc-server env import.",
  {},
  async (args, opened, client) => {
    const form = "NAME=VALUE, or NAME@=VALUE for a secret";
    if (args._.length === 0) throw new UsageError(`name what to set: ${form}`);
    const given = args._.map((word) => {
      const [, name, value] = /^([^=]+)=(.*)$/s.exec(word) ?? [];
      if (name === undefined || value === undefined) throw new UsageError(`${shownWord(word)} must be ${form}`);
      return [name, value];
    });
    await set(args, await opened(), client, Object.fromEntries(given));
  },
  { anyWords: true },
);

const unset = onVariables(
  "unset",
  "All others stay as they are.",
  {},
  async (args, opened, client) => {
    if (args._.length === 0) throw new UsageError("name the variables to remove");
    const wrong = args._.find((word) => word.includes("="));
    if (wrong !== undefined)
      throw new UsageError(`${shownWord(wrong)} must be the name of a variable, without a value`);
    const environment = await opened();
    const names = Object.keys(environment.variables);
    const unknown = args._.find((name) => !names.includes(name));
    if (unknown !== undefined)
      throw new Error(`${environment.title} has no variable ${unknown}${didYouMean(unknown, names)}`);
    const variables = Object.fromEntries(args._.map((name) => [name, null]));
    await change(args, environment, client, variables, `Removed ${joined(args._)} from`);
  },
  { anyWords: true },
);

const importCommand = onVariables(
  "import",
  "All others stay as they are. A line is NAME=VALUE, or NAME@=VALUE for a secret.",
  {
    file: word("The file, in UTF-8."),
    secret: flag("Store all of them as secrets."),
  },
  async (args, opened, client) => {
    const lines = read(String(args["file"]));
    await set(args, await opened(), client, lines);
  },
);

export const env = parent("env", "Running apps keep theirs until the next deployment or restart.", {
  list: listed("List the variables of an environment by name", "env list --project web", list),
  set: listed("Set variables", "env set PORT=8080 --project web", setCommand),
  unset: listed("Remove variables", "env unset PORT --project web", unset),
  import: listed("Set the variables of a file such as .env", "env import .env --project web", importCommand),
});
