import * as v from "valibot";
import type { MailTransport } from "../../drivers/mail/contract.ts";
import { parseSender } from "../../drivers/mail/sender.ts";
import { parseMailServer } from "../../drivers/mail/server-url.ts";
import { textOf } from "../../kernel/validation.ts";
import { checkedText, group, option } from "./option-types.ts";

/** The URL of a mail server. The rule never repeats the given value, which holds a password. */
const url = checkedText(
  (text) => parseMailServer(text) !== undefined,
  "must be a URL such as smtp://user:password@mail.example.com:587 or smtps://user:password@mail.example.com; write @ of a user or password as %40, : as %3A, / as %2F and % as %25",
);

const sender = v.pipe(
  textOf(1, 320),
  v.check(
    (text) => parseSender(text) !== undefined,
    'must be an e-mail address such as svc@example.com, Example <svc@example.com> or "Acme, Inc." <svc@example.com>',
  ),
);

export const mail = group({
  url: option(url, {
    help: "The mail server: `smtp://user:password@host:587`, or `smtps://` for TLS from the start. Without it, mails are only stored, and `svc-server mail` shows them. The URL holds a password, so there is no flag for it.",
    example: '"smtp://svc:password@mail.example.com:587"',
  }),
  from: option(sender, {
    help: "The sender of mails. Without it, `svc-server@` with the host of the public URL.",
    example: '"Example <svc@example.com>"',
  }),
  insecure: option(v.boolean(), {
    default: false,
    help: "Send mails, and the password of `mail.url`, without TLS if the server offers none, and accept every certificate.",
  }),
  transport: option(
    v.custom<MailTransport>((value) => typeof value === "function", "must be a function"),
    {
      help: "A function that gets each mail instead of a server: `({ messageId, from, to, subject, text, html }) => …`. The option `mail` may be this function itself. Without it, `mail.url` decides.",
      example: "(mail) => outbox.push(mail)",
    },
  ),
});
