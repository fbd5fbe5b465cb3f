import type { Page } from "../lib/client/answers.ts";
import { follows, pathExamples } from "../lib/client/typed-client.ts";
import type { Client } from "../lib/client.ts";
import { manualClockHint } from "../lib/kernel/manual-clock-hint.ts";
import { within } from "../lib/kernel/node/promises.ts";
import { EndedWith, UsageError } from "./arguments.ts";
import { inputOf, type OperationInfo, operationOf } from "./call-fields.ts";
import { connectionArgs, connectionOf, withClient } from "./connection.ts";
import { controlOf } from "./control-client.ts";
import { command, flag, type Given, option, optionalWord, word } from "./define-command.ts";
import { printLog } from "./logs.ts";
import { fieldOf, formatAnswer, isRecord, lostKey, note, say, saySecret, sayToReader } from "./output.ts";
import { exitOnSignal } from "./signals.ts";

/** Prints to stderr that a manual clock blocks a call, unless the call returns quickly. */
async function sayManualClock(args: Given, waiting: Promise<unknown>): Promise<void> {
  const clock = await controlOf(args)<{ now: string; mode: string }>("GET clock").catch(() => undefined);
  if (clock?.mode !== "manual") return;
  const over = () => false;
  if (await within("200ms", waiting.then(over, over), true)) note(manualClockHint(clock.now));
}

const unsuccessful: readonly unknown[] = ["failed", "cancelled", "rolled_back"];

/** For a call with `wait`: the exit code tells scripts that the work ended without success. */
function requireSuccess(id: string, record: unknown): void {
  if (!isRecord(record) || !unsuccessful.includes(record["status"])) return;
  const { error } = record;
  const why = isRecord(error) ? `: ${error["message"]}` : `; its log: svc-server deployments logs ${record["id"]}`;
  throw new EndedWith(3, `${id} waited for work that ended as ${record["status"]}${why}`);
}

const fieldArg = {
  field: option(
    "Print only this field of the answer, such as id or source.repo; for a list, the field of each record.",
    "VALUE",
  ),
};

function printed(answer: unknown, { field, json }: Given): string {
  if (field !== undefined) {
    const text = fieldOf(answer, String(field), { json: Boolean(json) });
    // No value may control the terminal.
    return process.stdout.isTTY ? text.replaceAll(/(?![\t\n])\p{Cc}/gu, "\ufffd") : text;
  }
  return json ? JSON.stringify(answer ?? null) : formatAnswer(answer);
}

async function callAll(
  { id, fields }: OperationInfo,
  input: Readonly<Record<string, unknown>>,
  client: Client,
  args: Given,
): Promise<void> {
  const [{ properties }] = fields["allOf"] as [{ properties: object }];
  if (!Object.hasOwn(properties, "cursor"))
    throw new UsageError(`option --all works only on lists with pages, which ${id} is not`);
  const list = (given: Readonly<Record<string, unknown>>) => client.call(id, given) as Promise<Page<unknown>>;
  for await (const record of client.paginate(list, { per_page: 100, ...input }))
    await sayToReader(printed(record, { ...args, json: args["field"] === undefined || args["json"] }));
}

async function follow(input: Readonly<Record<string, unknown>>, client: Client, args: Given): Promise<void> {
  const [id, name] = [String(input["id"]), input["name"]];
  exitOnSignal();
  await printLog(client.followLogs(name === undefined ? id : { id, name: String(name) }), args);
}

/** By operation, the advice if its new key, which is shown only once, cannot be printed. */
const remedies: Readonly<Record<string, (made: { readonly id: string }) => string>> = {
  "keys.create": ({ id }) => lostKey(`call keys.revoke ${id}`),
  "invitations.accept": ({ id }) =>
    `the new key is lost. An owner or admin removes the new user with svc-server call users.delete ${id}, and invites again`,
};

async function call(args: Given): Promise<void> {
  const [id = "", ...words] = args._;
  const operation = operationOf(id);
  const [feature, verb] = id.split(".");
  // Otherwise a generation would pass `wait` to its model as an input.
  if (verb === "create" && words.some((word) => word.startsWith("wait=")))
    throw new UsageError(`${id} does not wait; wait for what it makes: svc-server call ${feature}.get ID wait=30`);
  const input = inputOf(operation, words);
  const missing = operation.path.find((name) => !Object.hasOwn(input, name));
  if (missing !== undefined)
    throw new UsageError(
      `${id} needs ${missing}: svc-server call ${[id, ...Object.values(pathExamples(id))].join(" ")}`,
    );
  const connection = connectionOf(args);
  if (follows(id, input)) return withClient(connection, (client) => follow(input, client, args));
  if (args["all"]) return withClient(connection, (client) => callAll(operation, input, client, args));
  const answer = await withClient(connection, (client) => {
    const answering = client.call(id, input);
    if (Number(input["wait"]) > 0) void sayManualClock(args, answering);
    return answering;
  });
  const text = printed(answer, args);
  const remedy = remedies[id]?.(answer as { id: string });
  if (remedy !== undefined) await saySecret(text, remedy);
  else if (text !== "") say(text);
  if (input["wait"] !== undefined) requireSuccess(id, answer);
}

const callCommand = command(
  "call",
  "Write a list as list=a,b or list[]=a list[]=b, and read a whole body from a file with body=@FILE. With wait=N, a call ends with the exit code 3 if the work has failed, or was cancelled or rolled back.",
  {
    operation: word("The name of the operation, such as projects.list."),
    all: flag("Read every page of a list, and print each record as a line of JSON."),
    ...fieldArg,
    ...connectionArgs,
  },
  call,
  { anyWords: true },
);

export { callCommand as call };

/** `svc-server users invite …` is short for `svc-server call users.invite …`. */
export const users = command(
  "users",
  "svc-server users invite … is short for svc-server call users.invite …",
  {
    verb: optionalWord("The operation: list (the default), invite, get, update, …"),
    ...fieldArg,
    ...connectionArgs,
  },
  (args) => {
    const [verb = "list", ...words] = args._;
    return call({ ...args, _: [`users.${verb}`, ...words] });
  },
  { anyWords: true },
);
