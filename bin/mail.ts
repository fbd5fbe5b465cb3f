import type { ArgsDef } from "citty";
import * as v from "valibot";
import { defaultSender, hostOfSender } from "../lib/drivers/mail/sender.ts";
import { createSmtpMailer } from "../lib/drivers/mail/smtp.ts";
import { htmlOf, textOf } from "../lib/features/mails/content.ts";
import type { SentMail } from "../lib/features/mails/service.ts";
import { createClock } from "../lib/kernel/clock.ts";
import { createIds } from "../lib/kernel/ids.ts";
import { createRandom } from "../lib/kernel/random.ts";
import { email } from "../lib/kernel/validation.ts";
import { isMissing } from "../lib/store/database-url.ts";
import { databaseOf, fromEnvironment, UsageError } from "./arguments.ts";
import { connectionArgs, connectionOf } from "./connection.ts";
import { type Control, controlOf, NoControl } from "./control-client.ts";
import { databaseArgs, withAdmin } from "./database-admin.ts";
import { keyFileArg } from "./database-settings.ts";
import { command, type Given, optionalWord } from "./define-command.ts";
import { note, say, sayResult } from "./output.ts";
import { configuration, listenArgs } from "./server-options.ts";

const mailsOf = async (control: Control) => (await control<{ data: SentMail[] }>("GET mail")).data;

const mailsOfNamed = (args: Given, patience?: number) =>
  mailsOf(controlOf(args, patience)).catch((error: unknown) => {
    if (!(error instanceof NoControl)) throw error;
    throw new NoControl(`${error.message}. Its mails are in its database: svc-server mail --database PATH`);
  });

/** The mails of the selected emulator, or of one at the default address; undefined if a database is meant. */
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
    note(`these are the mails of the emulator at ${url}; those of a database: --database ${database}`);
  return mails;
}

function statusOf({ status, attempts }: SentMail): string {
  const last = attempts.at(-1);
  const tries = attempts.length === 0 ? "" : `, ${attempts.length} ${attempts.length === 1 ? "try" : "tries"}`;
  return `${status}${tries}${last?.error ? `: ${last.error}` : ""}`;
}

function print(args: Given, mails: readonly SentMail[]): void {
  if (args["json"]) say(JSON.stringify(mails));
  else if (mails.length === 0) say("No e-mail has been sent yet.");
  else
    for (const mail of mails)
      say(`${mail.sent_at}  To: ${mail.to}  ${mail.subject}  (${statusOf(mail)})\n\n${mail.text}\n`);
}

async function sendTest(args: Given, to: string): Promise<void> {
  const checked = v.safeParse(email(), to);
  if (!checked.success) throw new UsageError(`the address ${checked.issues[0].message}`);
  const { mail, publicUrl } = configuration("start", args).settings();
  const { url, from, insecure } = mail;
  if (url === undefined) throw new UsageError("set the option mail.url (SVC_MAIL_URL): no mail server is named");
  const sender = from ?? defaultSender(publicUrl ?? "http://localhost");
  const clock = createClock("real");
  const content = {
    heading: "A test of svc-server",
    lines: ["This mail is a test of svc-server. Its mail server works."],
    footer: "svc-server mail test sent it.",
  };
  const id = createIds(clock, createRandom()).next("mail");
  const handed = await createSmtpMailer({ url, insecure }).send({
    messageId: `<${id}@${hostOfSender(sender)}>`,
    from: sender,
    to,
    subject: content.heading,
    text: textOf(content),
    html: htmlOf(content),
    date: new Date(clock.now()),
  });
  if (handed.kind !== "sent") throw new Error("error" in handed ? handed.error : "the command ended");
  const text = `A mail to ${to} was handed to the mail server, from ${sender}.`;
  sayResult(args, { to, from: sender, status: handed.kind }, text);
}

export const mail = command(
  "mail",
  "Without a database, these are the mails of the emulator. To send a test mail: svc-server mail test ADDRESS",
  {
    test: optionalWord("The word `test`, to send a mail."),
    address: optionalWord("The address for the test mail."),
    database: databaseArgs["database"] as ArgsDef[string],
    "key-file": keyFileArg,
    config: listenArgs["config"] as ArgsDef[string],
    ...connectionArgs,
  },
  async (args) => {
    const { test, address } = args;
    if (test !== undefined && test !== "test") throw new UsageError(`unexpected word "${test}"`);
    if (test !== undefined && address === undefined)
      throw new UsageError("name an address: svc-server mail test ada@example.com");
    if (test === undefined && args["config"] !== undefined)
      throw new UsageError("option --config is for svc-server mail test ADDRESS");
    if (address !== undefined) return sendTest(args, String(address));
    const mails = await mailsOfEmulator(args);
    if (mails) return print(args, mails);
    const elsewhere = "svc-server mail --url URL (no emulator answers at the default address)";
    await withAdmin(args, elsewhere, async (admin) => print(args, await admin.mails()));
  },
);
