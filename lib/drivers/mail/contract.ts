/** A mail to send. The field names are nodemailer's, so `sendMail` accepts it unchanged. */
export interface OutgoingMail {
  /** The same for every attempt: `<mail_01…@svc.example.com>`. */
  readonly messageId: string;
  readonly from: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly date: Date;
}

/**
 * Sends a mail. If it throws, the service tries again later. An error with a `responseCode` from 500 to 599 is final.
 * The return value is ignored.
 */
export type MailTransport = (mail: OutgoingMail) => unknown;

/** The result of one attempt. `refused` is final. */
export type HandedOver =
  | { readonly kind: "sent" }
  | { readonly kind: "failed" | "refused"; readonly error: string }
  /** The service stopped during the attempt, which does not count. */
  | { readonly kind: "cut off" };

export interface Mailer {
  /** Never rejects. */
  send(mail: OutgoingMail): Promise<HandedOver>;
  /** Aborts running attempts. */
  close(): void;
}

/** A mailer that calls the function of the option `mail.transport`. */
export function functionMailer(transport: MailTransport): Mailer {
  return {
    async send(mail) {
      try {
        await transport(mail);
        return { kind: "sent" };
      } catch (error) {
        const { message, responseCode } = Object(error) as { message?: unknown; responseCode?: unknown };
        const isFinal = typeof responseCode === "number" && responseCode >= 500 && responseCode < 600;
        const text = `the function mail.transport threw: ${typeof message === "string" ? message : String(error)}`;
        return { kind: isFinal ? "refused" : "failed", error: text.slice(0, 500) };
      }
    },
    close() {},
  };
}
