import type { Settings } from "../lib/config/parse-options.ts";
import { parseMailServer } from "../lib/drivers/mail/server-url.ts";
import { createSmtpMailer } from "../lib/drivers/mail/smtp.ts";

/** Connects to the mail server and signs in. Sends no mail. */
export async function mailServer(settings: Settings | undefined): Promise<string> {
  const { url, insecure, transport } = settings?.mail ?? {};
  if (transport) return "the function mail.transport takes the mails";
  if (url === undefined)
    return "mail is kept, not sent; svc-server mail shows it; set the option mail.url (SVC_MAIL_URL) to send it";
  await createSmtpMailer({ url, insecure: insecure ?? false, timeout_ms: 10_000 }).verify();
  const { host, port, user } = parseMailServer(url) ?? {};
  return `${host}:${port} answers${user === "" ? " without a sign-in" : " and accepts the sign-in"}`;
}
