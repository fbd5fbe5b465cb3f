import type { ArgsDef } from "citty";
import type { SentMail } from "../lib/mails/service.ts";
import { isMissing } from "../lib/store/database-url.ts";
import { databaseOf, fromEnvironment, UsageError } from "./arguments.ts";
import { connectionArgs, connectionOf } from "./connection.ts";
import { type Control, controlOf, NoControl } from "./control-client.ts";
import { databaseArgs, withAdmin } from "./database-admin.ts";
import { keyFileArg } from "./database-settings.ts";
import { command, type Given } from "./define-command.ts";
import { say } from "./output.ts";

const mailsOf = async (control: Control) => (await control<{ data: SentMail[] }>("GET mail")).data;

/** The mails of the service that the arguments or variables name. */
const mailsOfNamed = (args: Given, patience?: number) =>
  mailsOf(controlOf(args, patience)).catch((error: unknown) => {
    if (!(error instanceof NoControl)) throw error;
    throw new NoControl(`${error.message}. Its mails are in its database: svc-server mail --database PATH`);
  });

/** The mails of the emulator that is named, or runs at the default address; undefined where a database is meant. */
async function mailsOfEmulator(args: Given): Promise<readonly SentMail[] | undefined> {
  const isDatabase = args["database"] !== undefined || args["key-file"] !== undefined;
  const isServer = args["url"] !== undefined || args["profile"] !== undefined;
  if (isDatabase && isServer) throw new UsageError("give a database or the address of an emulator, not both");
  if (isDatabase) return undefined;
  if (isServer) return mailsOfNamed(args);
  if (fromEnvironment("SVC_DATABASE")) return undefined;
  if (fromEnvironment("SVC_URL") || fromEnvironment("SVC_PROFILE")) return mailsOfNamed(args);
  const { url } = connectionOf(args);
  const database = databaseOf(args);
  const mails = await mailsOfNamed(args, 2_000).catch((error: unknown) => {
    if (error instanceof NoControl && isMissing(database)) throw error;
    return undefined;
  });
  if (mails && !isMissing(database))
    process.stderr.write(
      `svc-server: these are the mails of the emulator at ${url}; those of a database: --database ${database}\n`,
    );
  return mails;
}

function print(args: Given, mails: readonly SentMail[]): void {
  if (args["json"]) say(JSON.stringify(mails));
  else if (mails.length === 0) say("No e-mails were sent yet.");
  else for (const { to, subject, text, sent_at } of mails) say(`${sent_at}  To: ${to}  ${subject}\n\n${text}\n`);
}

export const mail = command(
  "mail",
  "Show the e-mails that the service would have sent, such as invitations: of a running emulator, or of a database.",
  {
    database: databaseArgs["database"] as ArgsDef[string],
    "key-file": keyFileArg,
    ...connectionArgs,
  },
  async (args) => {
    const mails = await mailsOfEmulator(args);
    if (mails) return print(args, mails);
    const elsewhere = "svc-server mail --url URL (no emulator answers at the default address)";
    await withAdmin(args, elsewhere, async (admin) => print(args, await admin.mails()));
  },
);
