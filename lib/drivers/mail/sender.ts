import addressparser from "nodemailer/lib/addressparser";

export interface Sender {
  /** Empty if there is only an address. */
  readonly name: string;
  readonly address: string;
}

const isAddress = (text: string) => /^[^\s\p{C}<>",;:@]+@(?:[^\s\p{C}<>",;:@]+|\[[\w.:]+\])$/u.test(text);

/** Parses a sender such as `"Acme, Inc." <svc@example.com>`; undefined if it is not exactly one. */
export function parseSender(text: string): Sender | undefined {
  // Quotes a name without quotation marks: otherwise the parser would drop its parentheses as a comment.
  const [, plain = "", path] = /^([^"<>\\]+)(<[^<>]*>)$/.exec(text.trim()) ?? [];
  const quoted = path === undefined ? text : `"${plain.trim()}" ${path}`;
  const [sender, ...more] = /\p{C}/u.test(text) ? [] : addressparser(quoted);
  const { name = "", address = "" } = sender ?? {};
  return more.length === 0 && isAddress(address) ? { name, address } : undefined;
}

/** The part after the @ of a sender. */
export const hostOfSender = (from: string): string => parseSender(from)?.address.split("@")[1] ?? "localhost";

/** The sender of mails if `mail.from` is not set. An IP address needs brackets in a mail address. */
export function defaultSender(origin: string): string {
  const { hostname } = new URL(origin);
  const host = hostname.startsWith("[") ? `[IPv6:${hostname.slice(1)}` : hostname;
  return `svc-server@${/^[\d.]+$/.test(host) ? `[${host}]` : host}`;
}
