import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";

/** A mail that a server accepted or was offered. */
export interface Received {
  readonly from: string;
  readonly to: readonly string[];
  /** Headers and parts as received. */
  readonly text: string;
  readonly user: string | undefined;
  readonly secure: boolean;
}

/** What a server answers instead of accepting the next mails, in order: to the recipient, or to the message. */
export interface Refusal {
  readonly at: "recipient" | "message";
  readonly code: number;
  readonly says: string;
}

export interface MailServer {
  readonly port: number;
  readonly received: Received[];
  /** The next refusals. After them, it accepts every mail. */
  readonly refusals: Refusal[];
  /** Resolves when this many mails have arrived. */
  count(wanted: number): Promise<void>;
}

const answer = ({ code, says }: Refusal) => Object.assign(new Error(says), { responseCode: code });

/** A real mail server on a free port of this machine, without TLS or sign-in unless `options` require them. */
export async function mailServer(
  t: Pick<TestContext, "after">,
  options: SMTPServerOptions = {},
  host = "127.0.0.1",
): Promise<MailServer> {
  const received: Received[] = [];
  const refusals: Refusal[] = [];
  const waiting = new Set<() => void>();
  const take = (at: Refusal["at"]) => (refusals[0]?.at === at ? refusals.shift() : undefined);
  const server = new SMTPServer({
    hideSTARTTLS: true,
    authOptional: true,
    allowInsecureAuth: true,
    disableReverseLookup: true,
    closeTimeout: 1,
    onAuth({ username, password }, _session, ended) {
      if (password === "right") ended(null, { user: username });
      else ended(new Error("5.7.8 bad credentials"));
    },
    onRcptTo(_address, _session, ended) {
      const refusal = take("recipient");
      ended(refusal && answer(refusal));
    },
    onData(stream, session, ended) {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        const { mailFrom, rcptTo } = session.envelope;
        received.push({
          from: mailFrom === false ? "" : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          text: Buffer.concat(chunks).toString("utf8"),
          user: session.user,
          secure: session.secure,
        });
        const refusal = take("message");
        ended(refusal && answer(refusal));
        for (const look of waiting) look();
      });
    },
    ...options,
  });
  server.on("error", () => {});
  const listener = server.listen(0, host);
  await once(listener, "listening");
  t.after(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return {
    port: (listener.address() as AddressInfo).port,
    received,
    refusals,
    count: (wanted) =>
      new Promise((resolve) => {
        const look = () => {
          if (received.length < wanted) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
  };
}
