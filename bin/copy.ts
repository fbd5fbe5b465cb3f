import { givenKey } from "../lib/composition/encryption-key.ts";
import { isPostgres, withoutPassword } from "../lib/store/database-url.ts";
import type { CopyReport } from "../lib/store/transfer/copy.ts";
import { copyDatabases } from "../lib/store/transfer/copy-databases.ts";
import { pathIn, requireDatabase, UsageError } from "./arguments.ts";
import { givenValue, keyFileArg, settingsOf } from "./database-settings.ts";
import { command, type Given, json, option } from "./define-command.ts";
import { counted, describeLost, say, sayResult } from "./output.ts";
import { withProgress } from "./progress.ts";

export const copy = command(
  "copy",
  "It copies rows, files, clock and pending work. Stop the servers first; a running one is refused. After an interruption, run the same command again.",
  {
    from: option("The database to copy.", "PATH|URL"),
    to: option("The new file, or an empty database of PostgreSQL.", "PATH|URL"),
    "key-file": keyFileArg,
    "assets-folder": option(
      "The folder of generated files beside PostgreSQL, for assets.store: folder. Without it they are in the database.",
      "PATH",
    ),
    json: { ...json["json"], description: "Print one JSON object per line: the progress, then the result." },
  },
  run,
);

function databasesOf(args: Given): { readonly from: string; readonly to: string } {
  const [from, to] = [args["from"], args["to"]];
  if (from === undefined || to === undefined) throw new UsageError("copy needs the options --from and --to");
  const [source, target] = [requireDatabase("--from", String(from)), requireDatabase("--to", String(to))];
  if (isPostgres(source) === isPostgres(target))
    throw new UsageError(
      isPostgres(source)
        ? "one of --from and --to must be a database file; copy PostgreSQL to PostgreSQL with pg_dump and pg_restore"
        : "one of --from and --to must be a URL such as postgres://user@host/name; copy a file with svc-server backup",
    );
  return { from: source, to: target };
}

async function run(args: Given): Promise<void> {
  const { from, to } = databasesOf(args);
  const isIntoFile = isPostgres(from);
  const settings = settingsOf(isIntoFile ? from : to, args);
  const isGiven = settings.encryptionKey !== undefined || settings.keyFile !== undefined;
  const key = isGiven || isIntoFile ? givenKey(settings) : undefined;
  const request = { from, to, key, folder: pathIn({ folder: givenValue(args, "assets-folder") }, "folder") };
  const result = await withProgress((report) =>
    copyDatabases(request, ({ step, what, done, total }) => {
      if (args["json"]) say(JSON.stringify({ event: "progress", step, what, done, total }));
      else if (step === "remove")
        say(`An earlier copy into ${withoutPassword(to)} was not finished. It is removed, and this copy starts over.`);
      else report({ what: `${step === "copy" ? "copying" : "comparing"} ${what}`, done, total });
    }),
  );
  const names = { from: withoutPassword(from), to: withoutPassword(to) };
  sayResult(args, { event: "copied", ...names, ...result }, describe(names, result));
}

function describe({ from, to }: { readonly from: string; readonly to: string }, result: CopyReport): string {
  const { was_complete, rows, files, lost_files } = result;
  const lost = lost_files.length > 0 ? `\nBut ${describeLost(lost_files)}, in ${from} already.` : "";
  const how = was_complete ? "was already a complete copy" : "is a complete copy";
  const key = isPostgres(to)
    ? `Give the key in ${from}.key to its servers: svc-server start --database ${to} --key-file ${from}.key`
    : `Its key is in ${to}.key: svc-server start --database ${to}`;
  return `${to} ${how} of ${from}: ${counted(rows, "rows")} and ${counted(files, "files")} were compared.${lost}\n${key}\nDo not start a server on ${from} again: it would do the same work twice.`;
}
