import { defineCommand } from "citty";
import { pathExamples } from "../lib/client/typed-client.ts";
import { UsageError } from "./arguments.ts";
import { inputOf, operationOf } from "./call-fields.ts";
import { clientOf, connectionArgs, connectionOf, explainedError } from "./connection.ts";
import { command, type Given } from "./define-command.ts";
import { say, table } from "./output.ts";
import { exitOnSignal } from "./signals.ts";

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const cell = (value: unknown) =>
  value === null || value === undefined ? "-" : typeof value === "object" ? JSON.stringify(value) : String(value);

/** Formats an answer for people: a list as a table, a record as lines. */
function format(answer: unknown): string {
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
      : "The list is empty.";
  const next =
    isRecord(meta) && typeof meta["next_cursor"] === "string" ? `\nNext page: cursor=${meta["next_cursor"]}` : "";
  return lines + next;
}

/** Calls the operation named by the first word, with the fields in the others. */
async function call(args: Given): Promise<void> {
  const [id = "", ...words] = args._;
  const operation = operationOf(id);
  const input = inputOf(operation, words);
  const missing = operation.path.find((name) => !Object.hasOwn(input, name));
  if (missing !== undefined)
    throw new UsageError(
      `${id} needs ${missing}: svc-server call ${[id, ...Object.values(pathExamples(id))].join(" ")}`,
    );
  const connection = connectionOf(args);
  const answer = await clientOf(connection)
    .call(id, input)
    .catch((error: unknown) => Promise.reject(explainedError(error, connection)));
  say(args["json"] ? JSON.stringify(answer ?? null) : format(answer));
}

const callCommand = command(
  "call",
  "Call any operation: svc-server call deployments.create project_id=proj_… environment=production source.type=git source.repo=acme/web. Write a list as list=a,b or list[]=a list[]=b, and read a whole body from a file with body=@FILE.",
  {
    operation: { type: "positional", description: "The name of the operation, such as projects.list." },
    ...connectionArgs,
  },
  call,
  { more: true },
);

export { callCommand as call };

/** `svc-server users invite …` is `svc-server call users.invite …`. */
export const users = command(
  "users",
  "List users, or call another operation on users: svc-server users invite email=ada@example.com role=developer.",
  {
    verb: {
      type: "positional",
      description: "The operation: list (the default), invite, get, update, …",
      required: false,
    },
    ...connectionArgs,
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
    follow: { type: "boolean", description: "Follow the log until the deployment has ended." },
    ...connectionArgs,
  },
  async (args) => {
    const connection = connectionOf(args);
    const client = clientOf(connection);
    const id = String(args["id"]);
    if (args["follow"]) exitOnSignal();
    const entries = args["follow"]
      ? client.followLogs(id)
      : client.paginate(client.deployments.logs, { id, per_page: 1000 });
    try {
      for await (const entry of entries)
        say(args["json"] ? JSON.stringify(entry) : `${entry.timestamp}  ${entry.level.padEnd(5)}  ${entry.message}`);
    } catch (error) {
      throw explainedError(error, connection);
    }
  },
);
export const deployments = defineCommand({
  meta: {
    name: "deployments",
    description: "Read the log of a deployment. For all other operations, see svc-server call.",
  },
  subCommands: { logs },
});
