import type { HandedOver, Mailer } from "../../drivers/mail/contract.ts";
import { hostOfSender } from "../../drivers/mail/sender.ts";
import { isoOf } from "../../kernel/clock.ts";
import { discard, done, type Lease, type Outcome, snooze } from "../../kernel/job.ts";
import { monotonicNow } from "../../kernel/node/system.ts";
import { redact } from "../../kernel/secrets/secret-redaction.ts";
import { milliseconds } from "../../kernel/text/duration.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import { contextOf } from "../../store/sealed-columns.ts";
import type { MailStatus, Row } from "../../store/tables.ts";
import type { Core } from "../core.ts";
import { htmlOf, type MailContent, textOf } from "./content.ts";
import { mailsRepository } from "./repository.ts";

/** A mail as features submit it. */
export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly content: MailContent;
  readonly link: string;
  /** Set in the mail of an invitation. */
  readonly token?: string;
  readonly invitation_id?: string;
}

/** A mail as the operator sees it (schema/testing.md#mails). */
export interface SentMail {
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** Null for mails of earlier versions. */
  readonly html: string | null;
  /** Empty in a mail without an invitation. */
  readonly token: string;
  readonly link: string;
  /** When the mail was created. */
  readonly sent_at: string;
  /** `kept` without a mail server; `failed` after the last attempt or a permanent refusal. */
  readonly status: MailStatus;
  /** The same for every attempt; null for a mail that was kept. */
  readonly message_id: string | null;
  /** The attempts, oldest first. `error` is null for a success. */
  readonly attempts: readonly { readonly at: string; readonly error: string | null }[];
  readonly invitation_id: string | null;
}

/** The encrypted part of the row. */
type Sealed = Pick<SentMail, "text" | "token" | "link"> & { readonly html?: string };
type Key = { readonly organization_id: string; readonly id: string };

/** The result of a mail, for the record it concerns. */
export interface MailResult {
  readonly mail_status: MailStatus;
  readonly mail_error: string | null;
}

interface Ports extends Pick<Core, "store" | "clock" | "ids" | "encryption" | "log"> {
  /** Undefined without a mail server. */
  readonly mailer: Mailer | undefined;
  readonly from: () => string;
  readonly queue: { add(tx: Tx, kind: string, args: object): Promise<void> };
  /** Called with the result of a mail, to store it in the invitation. */
  readonly onResult: (tx: Tx, organization_id: string, mail_id: string, result: MailResult) => Promise<void>;
}

/** How long a mail is stored: as long as an invitation is valid. */
const retention_ms = milliseconds("7d");
/** The waits after the first, second, … failed attempt. After the last wait there is one more attempt. */
const waits_ms = ["1m", "5m", "30m", "2h", "6h"].map((wait) => milliseconds(wait));

/** The limit of attempts at a time per organization. A silent mail server holds each for 30 s in the job loop. */
const maxAtOnce = 8;
/** The time between the turns of mails beyond that limit. */
const turn_ms = 50;

function createSending() {
  const organizations = new Map<string, { running: number; nextTurn: number }>();
  return {
    /** Runs an attempt. If too many run, returns the milliseconds until its turn. */
    async within<T>(organization_id: string, attempt: () => Promise<T>): Promise<T | number> {
      const its = organizations.get(organization_id) ?? { running: 0, nextTurn: 0 };
      if (its.running === maxAtOnce) {
        const now = monotonicNow();
        its.nextTurn = Math.max(now, its.nextTurn) + turn_ms;
        return its.nextTurn - now;
      }
      organizations.set(organization_id, its);
      its.running += 1;
      try {
        return await attempt();
      } finally {
        its.running -= 1;
        if (its.running === 0) organizations.delete(organization_id);
      }
    },
  };
}

export type MailsService = ReturnType<typeof mailsService>;

/** A mail is stored in the transaction that causes it, so that no crash loses it; encrypted, because it has tokens. */
export function mailsService({ store, clock, ids, encryption, log, mailer, from, queue, onResult }: Ports) {
  const mails = store.using(mailsRepository);
  const sending = createSending();
  const open = (row: Row<"mails">) => JSON.parse(encryption.decrypt(contextOf.mail(row), row.sealed)) as Sealed;
  const attemptsOf = ({ attempts }: Row<"mails">) => JSON.parse(attempts) as SentMail["attempts"];

  const settle = async (tx: Tx, row: Row<"mails">, status: MailStatus, error?: string | null) => {
    const attempts = [...attemptsOf(row), ...(error === undefined ? [] : [{ at: clock.iso(), error }])];
    const settled = await mails(tx).settle({ ...row, status, attempts: JSON.stringify(attempts) });
    if (settled > 0)
      await onResult(tx, row.organization_id, row.id, { mail_status: status, mail_error: error ?? null });
  };

  const outcomeOf = (row: Row<"mails">, handed: Exclude<HandedOver, { kind: "cut off" }>): Outcome => {
    const scope = { organization_id: row.organization_id };
    if (handed.kind === "sent") return done((tx) => settle(tx, row, "sent", null), scope);
    const error = redact(handed.error);
    const wait_ms = handed.kind === "refused" ? undefined : waits_ms[attemptsOf(row).length];
    log.warn("a mail could not be sent", { mail: row.id, reason: error, tries_again: wait_ms !== undefined });
    return wait_ms === undefined
      ? done((tx) => settle(tx, row, "failed", error), scope)
      : snooze(wait_ms, (tx) => settle(tx, row, "pending", error), scope);
  };

  return {
    /** Adds a mail; returns its id and status. */
    async send(tx: Tx, organization_id: string, { to, subject, content, token = "", link, invitation_id }: Mail) {
      const id = ids.next("mail");
      const sealed: Sealed = { text: textOf(content), html: htmlOf(content), token, link };
      const status: MailStatus = mailer ? "pending" : "kept";
      await mails(tx).insert({
        id,
        organization_id,
        recipient: to,
        subject,
        sealed: encryption.encrypt(contextOf.mail({ organization_id, id }), JSON.stringify(sealed)),
        sent_at: clock.iso(),
        status,
        message_id: mailer ? `<${id}@${hostOfSender(from())}>` : null,
        attempts: "[]",
        invitation_id: invitation_id ?? null,
      });
      if (mailer) await queue.add(tx, "mails.send", { organization_id, id });
      return { mail_id: id, mail_status: status, mail_error: null };
    },

    /** One attempt. If the lease is lost, another process makes it. */
    async handOver(key: Key, lease: Lease): Promise<Outcome> {
      const row = await mails().find(key);
      if (row?.status !== "pending") return discard("the mail is no longer pending");
      if (!mailer) return done((tx) => settle(tx, row, "kept"), { organization_id: row.organization_id });
      if (!lease.isHeld()) return discard("another process sends it");
      const { text, html = "" } = open(row);
      const { recipient: to, subject, message_id } = row;
      const date = new Date(row.sent_at);
      const mail = { messageId: message_id ?? "", from: from(), to, subject, text, html, date };
      const handed = await sending.within(key.organization_id, () => mailer.send(mail));
      if (typeof handed === "number") return snooze(handed);
      // The next start repeats this attempt.
      return handed.kind === "cut off" ? snooze(0) : outcomeOf(row, handed);
    },

    /** Ends a pending mail that is out of date, or whose job failed for another reason than the server's response. */
    async giveUp(tx: Tx, key: Key, reason: string) {
      const row = await mails(tx).find(key);
      if (row?.status === "pending") await settle(tx, row, "failed", reason);
    },

    async all(): Promise<SentMail[]> {
      return (await mails().all({})).map((row) => {
        const { text, html = null, token, link } = open(row);
        const { id, recipient: to, subject, sent_at, status, message_id, invitation_id } = row;
        const attempts = attemptsOf(row);
        return { id, to, subject, text, html, token, link, sent_at, status, message_id, attempts, invitation_id };
      });
    },

    clear: () => store.transaction("rows", (tx) => mails(tx).clear({})),

    async prune() {
      const before = isoOf(clock.now() - retention_ms);
      while ((await store.transaction("rows", (tx) => mails(tx).prune({ before }))) > 0);
    },
  };
}
