import { type Clock, isoOf } from "../kernel/clock.ts";
import { milliseconds } from "../kernel/duration.ts";
import type { Ids } from "../kernel/ids.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import type { Encryption } from "../store/encryption.ts";
import type { Store } from "../store/store.ts";
import { mailsRepository } from "./repository.ts";

export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly token: string;
  readonly link: string;
}

/** A mail as it is shown to the operator. */
export interface SentMail extends Mail {
  readonly sent_at: string;
}

/** How long a mail is stored: the lifetime of the invitation in it. */
const retention_ms = milliseconds("7d");

export type MailsService = ReturnType<typeof mailsService>;

/**
 * Stores the mails of the service in the transaction of what they say, so no crash loses one; encrypted, because they hold
 * tokens. Nothing sends them yet: the control interface and `svc-server mail` show them to the operator.
 */
export function mailsService({
  store,
  clock,
  ids,
  encryption,
}: {
  store: Store;
  clock: Clock;
  ids: Ids;
  encryption: Encryption;
}) {
  const mails = store.using(mailsRepository);
  return {
    async send(tx: Tx, organization_id: string, { to, subject, ...rest }: Mail) {
      const id = ids.next("mail");
      const sealed = encryption.encrypt(`mails ${organization_id} ${id}`, JSON.stringify(rest));
      await mails(tx).insert({
        id,
        organization_id,
        recipient: to,
        subject,
        sealed,
        sent_at: clock.iso(),
      });
    },

    /** Every mail, oldest first. */
    async all(): Promise<SentMail[]> {
      return (await mails().all({})).map(({ id, organization_id, recipient, subject, sealed, sent_at }) => {
        const { text, token, link } = JSON.parse(encryption.decrypt(`mails ${organization_id} ${id}`, sealed)) as Omit<
          Mail,
          "to" | "subject"
        >;
        return { to: recipient, subject, text, token, link, sent_at };
      });
    },

    async prune() {
      const before = isoOf(clock.now() - retention_ms);
      while ((await store.transaction("rows", (tx) => mails(tx).prune({ before }))) > 0);
    },
  };
}
