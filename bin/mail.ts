import type { ArgsDef } from "citty";
import { databaseArgs, withAdmin } from "./database-admin.ts";
import { keyFileArg } from "./database-settings.ts";
import { command, json } from "./define-command.ts";
import { say } from "./output.ts";

export const mail = command(
  "mail",
  "Show the e-mails that the service would have sent, such as invitations.",
  {
    database: databaseArgs.database as ArgsDef[string],
    "key-file": keyFileArg,
    ...json,
  },
  (args) =>
    withAdmin(args, "GET /_svc/mail", async (admin) => {
      const mails = await admin.mails();
      if (args.json) return say(JSON.stringify(mails));
      if (mails.length === 0) say("No e-mails were sent yet.");
      for (const { to, subject, text, sent_at } of mails) say(`${sent_at}  To: ${to}  ${subject}\n\n${text}\n`);
    }),
);
