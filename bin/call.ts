import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { type ArgsDef, defineCommand } from "citty";
import { publishedText } from "../lib/openapi/service.ts";
import { Usage } from "./arguments.ts";
import { inputOf, operationOf } from "./call-fields.ts";
import { command, endAsAsked, endUndone, type Given, say, table } from "./command.ts";
import { clientOf, explained, keepProfile, placeOf, profileOf, reach } from "./connection.ts";

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const cell = (value: unknown) =>
  value === null || value === undefined ? "-" : typeof value === "object" ? JSON.stringify(value) : String(value);

/** An answer for people: a list as a table, a record as lines. */
function shown(answer: unknown): string {
  if (!isRecord(answer)) return answer === undefined ? "Done." : cell(answer);
  const { data, meta, ...record } = answer;
  if (!Array.isArray(data))
    return table(
      Object.entries({ ...(data !== undefined && { data }), ...record }).map(([key, value]) => [key, cell(value)]),
    );
  const rows = data.filter(isRecord);
  const names = [...new Set(rows.flatMap(Object.keys))];
  const lines =
    rows.length > 0
      ? table([names.map((name) => name.toUpperCase()), ...rows.map((row) => names.map((name) => cell(row[name])))])
      : "Nothing.";
  const next = isRecord(meta) && typeof meta["next_cursor"] === "string" ? `\nMore: cursor=${meta["next_cursor"]}` : "";
  return lines + next;
}

/** Calls an operation that is known by its name, with fields as they were typed. */
async function call(args: Given): Promise<void> {
  const [id = "", ...words] = args._;
  const input = inputOf(operationOf(id), words);
  const place = placeOf(args);
  const answer = await clientOf(place)
    .call(id, input)
    .catch((error: unknown) => Promise.reject(explained(error, place)));
  say(args["json"] ? JSON.stringify(answer ?? null) : shown(answer));
}

const callCommand = command(
  "call",
  "Call any operation: svc-server call deployments.create project_id=proj_… environment=production source.type=git source.repo=acme/web. Lists are list[]=a or list=a,b; body=@FILE takes a whole body.",
  {
    operation: { type: "positional", description: "Such as projects.list; the README lists them all." },
    ...reach,
  },
  call,
  { more: true },
);

export { callCommand as call };

/** `svc-server users invite …` is `svc-server call users.invite …`. */
export const users = command(
  "users",
  "List the members, or do with them what users.* can: svc-server users invite email=ada@example.com role=developer.",
  {
    verb: { type: "positional", description: "list (where it is left out), invite, get, update, …", required: false },
    ...reach,
  },
  (args) => {
    const [verb = "list", ...words] = args._;
    return call({ ...args, _: [`users.${verb}`, ...words] });
  },
  { more: true },
);

const logs = command(
  "logs",
  "Print the log of a deployment.",
  {
    id: { type: "positional", description: "The deployment's identifier." },
    follow: { type: "boolean", description: "Go on until the deployment has ended." },
    ...reach,
  },
  async (args) => {
    const place = placeOf(args);
    const client = clientOf(place);
    const id = String(args["id"]);
    if (args["follow"]) endAsAsked();
    const entries = args["follow"]
      ? client.followLogs(id)
      : client.paginate(client.deployments.logs, { id, per_page: 1000 });
    try {
      for await (const entry of entries)
        say(args["json"] ? JSON.stringify(entry) : `${entry.timestamp}  ${entry.level.padEnd(5)}  ${entry.message}`);
    } catch (error) {
      throw explained(error, place);
    }
  },
);
export const deployments = defineCommand({
  meta: { name: "deployments", description: "Read what deployments say; everything else is svc-server call." },
  subCommands: { logs },
});

export const openapi = command(
  "openapi",
  "Print the OpenAPI document of the interface.",
  { envelope: { type: "string", description: "flat or full (flat).", valueHint: "FORM" } },
  (args) => {
    const envelope = args["envelope"] ?? "flat";
    if (envelope !== "flat" && envelope !== "full") throw new Usage("option --envelope must be flat or full");
    process.stdout.write(publishedText(envelope));
  },
);

const kept: ArgsDef = {
  url: {
    type: "string",
    description: "Where the service is; else SVC_URL or the profile default says so (http://127.0.0.1:7400).",
    valueHint: "URL",
  },
  profile: { type: "string", description: "What the profile is called (SVC_PROFILE, default).", valueHint: "NAME" },
};

/** A line that is typed at the terminal, which does not show it. */
async function unseen(prompt: string): Promise<string> {
  process.stderr.write(prompt);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  // The terminal hands Ctrl+C over as a letter, instead of sending a signal.
  lines.once("SIGINT", () => process.emit("SIGINT"));
  let typed = "";
  for await (const line of lines) {
    typed = line;
    break;
  }
  process.stderr.write("\n");
  return typed;
}

export const login = command(
  "login",
  "Keep an API key, read from stdin, in a profile that this user alone can read: svc-server login --url URL < key.txt",
  kept,
  async (args) => {
    const name = profileOf(args) ?? "default";
    const place = placeOf(args, null);
    endUndone("login was stopped; no key was kept");
    const typed = process.stdin.isTTY ? await unseen(`The API key for ${place.url}: `) : await text(process.stdin);
    const apiKey = typed.trim();
    const given = { ...place, apiKey, keyBy: "the key on stdin" };
    const { user, organization } = await clientOf(given)
      .me.get()
      .catch((error: unknown) => Promise.reject(explained(error, given)));
    keepProfile(name, place.url, apiKey);
    say(`The profile ${name} is kept: ${user.name}, ${user.role} of ${organization.name}.`);
  },
);
