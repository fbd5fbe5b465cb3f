const hidden = "[redacted]";

/** Names that say that what follows is a secret, as in `client_secret`, `X-Gitlab-Token` and `api-key`. */
const secretive =
  "[\\w-]{0,32}(?:secret|token|password|passphrase|signature|credential|authorization|cookie|api[-_]?key)[\\w-]{0,32}";
const named = new RegExp(`^(?:key|${secretive})$`, "i");

/** What a quote opens ends at the same one with no backslash before it, so that JSON within JSON is read rightly. */
const quoted = String.raw`(?<quote>\\*["'])(?:(?!(?<!\\)\k<quote>)[\s\S])*`;
const assigned = new RegExp(
  String.raw`(?<name>${secretive})(?<between>\\*["']?\s*[:=]\s*)(?:${quoted}|[^\s,;&"'}\])][^\r\n,;&"'}\])]*)`,
  "gi",
);

const forms: readonly (readonly [RegExp, (...found: string[]) => string])[] = [
  // Of a URL only its host is no secret: links are signed, chat tools have theirs in the path, databases in the user.
  [
    /\b(https?|wss?|ftp|postgres(?:ql)?|redis):\/\/([^\s"'<>]+)/gi,
    (_, scheme, rest = "") => `${scheme}://${rest.includes("@") ? hidden : rest.replace(/[/?#\\].+$/s, `/${hidden}`)}`,
  ],
  [/\b(Bearer|Basic)\s+[^\s"',;]+/gi, (_, scheme) => `${scheme} ${hidden}`],
  [/(sk_live_|whsec_)[^\s"'`,;&<>()[\]{}\\]+/g, (_, prefix) => `${prefix}${hidden}`],
  // 256 bits in letters or base64url: the tokens of invitations and the signatures of links, wherever they stand.
  [/(?<![\w-])[\w-]{43}(?![\w-])/g, () => hidden],
];

/** Without one of these a text can hold none of all that, and most texts have none: one look tells so. */
const suspicious = /[:=]|sk_live_|whsec_|(?<![\w-])[\w-]{43}|bearer\s|basic\s/i;

/** A text for the log without what is secret in it, by the forms that secrets have and the names that they go by. */
export function redact(text: string): string {
  if (!suspicious.test(text)) return text;
  const without = forms.reduce((left, [form, shown]) => left.replace(form, shown), text);
  return without.replace(assigned, (...found) => {
    const { name, between, quote = "" } = found.at(-1) as Record<string, string | undefined>;
    return `${name}${between}${quote}${hidden}`;
  });
}

/** The value of a field of a log entry without what is secret in it. */
export const redactField = <T>(name: string, value: T): T | string =>
  named.test(name) && value !== null && value !== undefined
    ? hidden
    : typeof value === "string"
      ? redact(value)
      : value;
