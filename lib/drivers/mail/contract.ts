/** A mail as it is handed over. The fields have the names of nodemailer, whose `sendMail` takes it as it is. */
export interface OutgoingMail {
  /** The same at every try: `<mail_01…@svc.example.com>`. */
  readonly messageId: string;
  readonly from: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly date: Date;
}

/**
 * Takes a mail. If it throws, the service tries again later; an error whose `responseCode` is 500 to 599 is final. The service
 * ignores its answer.
 */
export type MailTransport = (mail: OutgoingMail) => unknown;

/** The result of one try. After `refused` no other one can succeed. */
export type HandedOver =
  | { readonly kind: "sent" }
  | { readonly kind: "failed" | "refused"; readonly error: string }
  /** The service ended meanwhile. The try does not count. */
  | { readonly kind: "cut off" };

/** Hands mails over. */
export interface Mailer {
  /** Never rejects. */
  send(mail: OutgoingMail): Promise<HandedOver>;
  /** Ends the tries that run. */
  close(): void;
}

/** A mailer around a function of the user. */
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
