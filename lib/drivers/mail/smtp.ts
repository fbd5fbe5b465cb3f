import { systemTimer } from "../../kernel/clock.ts";
import { hideValues } from "../../kernel/secrets/secret-values.ts";
import type { HandedOver, Mailer, OutgoingMail } from "./contract.ts";
import { parseSender } from "./sender.ts";
import { type MailServer, parseMailServer } from "./server-url.ts";

/** The time limit of a whole attempt: connection, sign-in and message. */
const timeout_ms = 30_000;

export interface SmtpSettings {
  /** `smtp://user:password@host:587`, already validated. */
  readonly url: string;
  /** Allows connections without TLS and accepts every certificate. */
  readonly insecure?: boolean;
  readonly timeout_ms?: number;
  /** PEM certificates to trust instead of Node's built-in ones. */
  readonly ca?: readonly string[];
}

export interface SmtpMailer extends Mailer {
  /** Connects and signs in without sending a mail. Throws an error that names the problem. */
  verify(): Promise<void>;
}

/** Loads nodemailer. It is not a dependency of the package, because few users need it. */
async function loadPackage() {
  try {
    const [connection, composer] = await Promise.all([
      import("nodemailer/lib/smtp-connection"),
      import("nodemailer/lib/mail-composer"),
    ]);
    return { Connection: connection.default, Composer: composer.default };
  } catch (cause) {
    throw new Error('the package nodemailer is not installed. Run "npm install nodemailer".', { cause });
  }
}

type Nodemailer = Awaited<ReturnType<typeof loadPackage>>;
type Connection = InstanceType<Nodemailer["Connection"]>;

interface Failure {
  readonly code?: string;
  readonly command?: string;
  readonly message?: string;
  readonly response?: string;
  readonly responseCode?: number;
}

const isFinal = ({ responseCode = 0 }: Failure) => responseCode >= 500 && responseCode < 600;

const trust =
  "use the host name of the certificate, trust its authority with NODE_EXTRA_CA_CERTS, or set mail.insecure";

/** A readable reason. Credentials that the server echoes are removed. */
function reasonOf(failure: Failure, server: MailServer): string {
  const { code = "", command = "", message = "", response = "" } = failure;
  const said = response.replace(/\s+/g, " ").trim();
  const at = `the mail server ${server.host}:${server.port}`;
  const sentence = /package nodemailer/.test(message)
    ? message
    : code === "EAUTH"
      ? `${at} refused the sign-in${said && `: ${said}`}; correct user and password in mail.url`
      : command === "STARTTLS" && said !== ""
        ? `${at} offers no TLS (STARTTLS): ${said}; set it up there, or set mail.insecure to send without it`
        : /certificate|altnames/i.test(message)
          ? `the certificate of ${at} was not accepted: ${message.replace(/^Error initiating TLS - /, "")}; ${trust}`
          : code === "ETIMEDOUT"
            ? `${at} did not answer in time`
            : said !== ""
              ? `${at} refused ${command === "RCPT TO" ? "the address" : "the mail"}: ${said}`
              : `${at} could not be reached: ${message || code}`;
  const { user, password } = server;
  const forms = [password, encodeURIComponent(password), Buffer.from(password).toString("base64")];
  const signIn = Buffer.from(`\0${user}\0${password}`).toString("base64");
  return hideValues([...forms, signIn], 1)(sentence).slice(0, 500);
}

/** Whether the refusal of the recipient or the message is permanent. */
const isRefusal = (failure: Failure) =>
  isFinal(failure) && (failure.command === "RCPT TO" || (failure.command === "DATA" && failure.code === "EMESSAGE"));

/** Sends each mail to an SMTP server on a new connection. */
export function createSmtpMailer(settings: SmtpSettings): SmtpMailer {
  const server = parseMailServer(settings.url);
  if (!server) throw new Error("the URL of the mail server is not valid");
  const { host, port, secure, user, password } = server;
  const { insecure = false, timeout_ms: limit_ms = timeout_ms } = settings;
  const running = new Set<() => void>();
  let isClosed = false;

  /** Signs in and runs `work` on the connection. Throws its error. */
  const connected = async (work: (connection: Connection, packages: Nodemailer) => Promise<void>): Promise<void> => {
    const packages = await loadPackage();
    if (isClosed) throw new Error("the service ends");
    const connection = new packages.Connection({
      host,
      port,
      secure,
      requireTLS: !secure && !server.isLoopback && !insecure,
      // Without this, nodemailer refuses to connect on a machine that has only a loopback interface.
      allowInternalNetworkInterfaces: true,
      connectionTimeout: limit_ms,
      greetingTimeout: limit_ms,
      socketTimeout: limit_ms,
      dnsTimeout: limit_ms,
      socketCloseTimeout: 0,
      tls: { rejectUnauthorized: !insecure, ...(settings.ca && { ca: [...settings.ca] }) },
    });
    let fail = (_: unknown) => {};
    const failed = new Promise<never>((_, reject) => {
      fail = reject;
    });
    connection.on("error", fail);
    connection.on("end", () => fail({ message: "the connection was closed" }));
    const cut = () => fail(new Error("the service ends"));
    running.add(cut);
    const late = Object.assign(new Error("time limit"), { code: "ETIMEDOUT" });
    const stopTimer = systemTimer(limit_ms, () => fail(late));
    const step = (run: (ended: (error?: unknown) => void) => void) =>
      new Promise<void>((resolve, reject) => run((error) => (error ? reject(error) : resolve())));
    const steps = async () => {
      await step((ended) => connection.connect(ended));
      if (user !== "") await step((ended) => connection.login({ user, pass: password }, ended));
      await work(connection, packages);
    };
    try {
      await Promise.race([steps(), failed]);
      connection.quit();
    } catch (error) {
      connection.close();
      throw error;
    } finally {
      stopTimer();
      running.delete(cut);
      failed.catch(() => {});
    }
  };

  return {
    async verify() {
      await connected(async () => {}).catch((error: Failure) => Promise.reject(new Error(reasonOf(error, server))));
    },
    async send(mail): Promise<HandedOver> {
      try {
        await connected(async (connection, { Composer }) => {
          const from = parseSender(mail.from) ?? { name: "", address: mail.from };
          const message = await new Composer({ ...contentOf(mail), from }).compile().build();
          const envelope = { from: from.address, to: [mail.to] };
          await new Promise<void>((resolve, reject) => {
            connection.send(envelope, message, (error: unknown) => (error ? reject(error) : resolve()));
          });
        });
        return { kind: "sent" };
      } catch (error) {
        if (isClosed) return { kind: "cut off" };
        const failure = Object(error) as Failure;
        return { kind: isRefusal(failure) ? "refused" : "failed", error: reasonOf(failure, server) };
      }
    },
    close() {
      isClosed = true;
      for (const cut of running) cut();
    },
  };
}

const contentOf = ({ messageId, to, subject, text, html, date }: OutgoingMail) => ({
  messageId,
  // An object, because a comma in a string would create a second recipient.
  to: { name: "", address: to },
  subject,
  text,
  html,
  date,
  headers: { "Auto-Submitted": "auto-generated" },
  disableFileAccess: true,
  disableUrlAccess: true,
});
