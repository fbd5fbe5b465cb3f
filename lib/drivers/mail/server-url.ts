import { parseUrl } from "../../kernel/text/url.ts";
import { isLoopback } from "../outbound/address-policy.ts";

export interface MailServer {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte (`smtps://`). */
  readonly secure: boolean;
  readonly user: string;
  readonly password: string;
  /** The connection does not leave this machine. */
  readonly isLoopback: boolean;
}

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
};

export function parseMailServer(text: string): MailServer | undefined {
  // Checked before `URL`, which silently removes line breaks and tabs.
  const url = /^smtps?:\/\/[^\s\\]+$/.test(text) ? parseUrl(text) : undefined;
  if (!url || url.hostname === "" || url.search !== "" || url.hash !== "" || !/^\/?$/.test(url.pathname))
    return undefined;
  const [user, password, name] = [url.username, url.password, url.hostname].map(decoded);
  if (user === undefined || password === undefined || name === undefined) return undefined;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: no control character belongs into a line of SMTP
  if (/[\u0000-\u001f\u007f]/.test(user + password) || !/^[A-Za-z0-9.:[\]_-]+$/.test(name)) return undefined;
  if (user === "" && password !== "") return undefined;
  const host = name.replace(/^\[(.*)\]$/, "$1");
  const secure = url.protocol === "smtps:";
  return {
    host,
    port: url.port === "" ? (secure ? 465 : 587) : Number(url.port),
    secure,
    user,
    password,
    isLoopback: /^(.+\.)?localhost$/i.test(host) || isLoopback(host),
  };
}
