import { resolve } from "node:path";
import type { Client, LogEntry } from "../lib/client.ts";
import { connectionArgs, connectionOf, withClient } from "./connection.ts";
import { command, flag, type Given, listed, option, optionalWord, parent, word } from "./define-command.ts";
import { note, sayToReader } from "./output.ts";
import { projectOf, requireProject } from "./project-name.ts";
import { exitOnSignal } from "./signals.ts";

/** Why the log of an app has ended. A deployment's log ends with the state of the deployment. */
const endReasons: Readonly<Record<string, string>> = {
  deleted: "the environment was deleted",
  simulated: "deployments are simulated here, so no app runs and prints",
};

/** Prints the entries of a log as they arrive. Returns how many there were. */
export async function printLog(entries: AsyncGenerator<LogEntry, { status: string } | undefined>, args: Given) {
  for (let count = 0; ; count++) {
    const { value, done } = await entries.next();
    if (done) {
      const end = endReasons[value?.status ?? ""];
      if (end) note(end);
      return count;
    }
    const { timestamp, level, message } = value;
    await sayToReader(args["json"] ? JSON.stringify(value) : `${timestamp}  ${level.padEnd(5)}  ${message}`);
  }
}

async function readLog(args: Given, read: (client: Client) => Promise<unknown>): Promise<void> {
  const connection = connectionOf(args);
  if (args["follow"]) exitOnSignal();
  await withClient(connection, read);
}

const ofDeployment = command(
  "logs",
  "",
  {
    id: word("The deployment's identifier."),
    follow: flag("Follow the log until the deployment has ended."),
    ...connectionArgs,
  },
  (args) =>
    readLog(args, (client) => {
      const id = String(args["id"]);
      return printLog(
        args["follow"] ? client.followLogs(id) : client.paginate(client.deployments.logs, { id, per_page: 1000 }),
        args,
      );
    }),
);

export const deployments = parent("deployments", "For all other operations, see svc-server call.", {
  logs: listed("Print the log of a deployment", "deployments logs ID --follow", ofDeployment),
});

export const logs = command(
  "logs",
  "These are the last 10,000 lines. Without a project, it is the one that is named like the current folder.",
  {
    project: optionalWord("The name or id of the project (the name of the current folder)."),
    environment: option("The environment (production).", "NAME"),
    follow: flag("Print new lines as they come, until you stop it."),
    ...connectionArgs,
  },
  (args) =>
    readLog(args, async (client) => {
      const how = "svc-server logs PROJECT";
      const { id } = await requireProject(client, projectOf(resolve("."), args["project"], how), how);
      const key = { id, name: String(args["environment"] ?? "production") };
      const entries = args["follow"]
        ? client.followLogs(key)
        : client.paginate(client.environments.logs, { ...key, per_page: 1000 });
      const count = await printLog(entries, args);
      if (count === 0 && !args["follow"]) note("no app has printed anything there yet");
    }),
);
