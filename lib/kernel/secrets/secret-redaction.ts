import { redaction as hidden } from "./secret-values.ts";

/** Matches field names of secrets, such as `client_secret`, `X-Gitlab-Token` and `api-key`. */
const secretive =
  "[\\w-]{0,32}(?:secret|token|password|passphrase|signature|credential|authorization|cookie|api[-_]?key)[\\w-]{0,32}";
const named = new RegExp(`^(?:key|${secretive})$`, "i");

export const isSecretName = (name: string): boolean => named.test(name);

/** A quoted value ends at the same quote without a backslash before it, which also works for JSON within JSON. */
const quoted = String.raw`(?<quote>\\*["'])(?:(?!(?<!\\)\k<quote>)[\s\S])*`;
const assigned = new RegExp(
  String.raw`(?<name>${secretive})(?<between>\\*["']?\s*[:=]\s*)(?:${quoted}|[^\s,;&"'}\])][^\r\n,;&"'}\])]*)`,
  "gi",
);

type Forms = readonly (readonly [RegExp, (...found: string[]) => string])[];
// Only the host of a URL is public: links contain signatures, chat webhooks secret paths, database URLs passwords.
const hosts: Forms = [
  [
    /\b(https?|wss?|ftp|postgres(?:ql)?|redis):\/\/([^\s"'<>]+)/gi,
    (_, scheme, rest = "") => `${scheme}://${rest.includes("@") ? hidden : rest.replace(/[/?#\\].+$/s, `/${hidden}`)}`,
  ],
];
/** A URL in a body of the interface: callers may read its path, but neither its user nor its query. */
const paths: Forms = [
  [
    /\b([a-z][a-z\d+.-]{0,20}:\/\/)([^\s"'<>/?#]*@)?([^\s"'<>?#@]*)([?#@][^\s"'<>]*)?/gi,
    (_, scheme, user, place, rest) => `${scheme}${user ? `${hidden}@` : ""}${place}${rest ? `?${hidden}` : ""}`,
  ],
];
const forms: Forms = [
  [/\b(Bearer|Basic)\s+[^\s"',;]+/gi, (_, scheme) => `${scheme} ${hidden}`],
  [/(sk_live_|whsec_)[^\s"'`,;&<>()[\]{}\\]+/g, (_, prefix) => `${prefix}${hidden}`],
  // 256 bits in base62 or base64url: invitation tokens and link signatures.
  [/(?<![\w-])[\w-]{43}(?![\w-])/g, () => hidden],
];

/** Text without a match has no secret. Most texts match nothing, so this check saves most of the work. */
const suspicious = /[:=]|sk_live_|whsec_|(?<![\w-])[\w-]{43}|bearer\s|basic\s/i;

/** Replaces the secrets in a text, recognized by their form or by the name before them. */
export function redact(text: string, urls: Forms = hosts): string {
  if (!suspicious.test(text)) return text;
  const without = [...urls, ...forms].reduce((left, [form, shown]) => left.replace(form, shown), text);
  return without.replace(assigned, (...found) => {
    const { name, between, quote = "" } = found.at(-1) as Record<string, string | undefined>;
    return `${name}${between}${quote}${hidden}`;
  });
}

/** Replaces the secrets in a field of a log entry. */
export const redactField = <T>(name: string, value: T): T | string =>
  isSecretName(name) && value !== null && value !== undefined
    ? hidden
    : typeof value === "string"
      ? redact(value)
      : value;

/** Replaces the secrets in a value of a body, by its name, its form, or its mark as secret. */
function redactValue(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null) {
    if (typeof value !== "string" || value === "") return value;
    return isSecretName(name) || name === "webhook_url" ? hidden : redact(value, paths);
  }
  if (Array.isArray(value)) return value.map((one) => redactValue(one, name));
  const isMarked = "secret" in value && value.secret === true;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [
      key,
      // The interface never returns the headers of a receiver.
      redactValue(
        one,
        isMarked && key === "value" ? "secret" : name === "headers" || isSecretName(name) ? "secret" : key,
      ),
    ]),
  );
}

/** The values in a text that is not whole JSON. Which of them are marked as secret is unknown there. */
const values = /(:\s*)"(?:[^"\\]|\\.)*"?/g;

/** Replaces the secrets in a body. A body that is not whole JSON loses every value that is a text. */
export function redactBody(text: string): string {
  try {
    return JSON.stringify(redactValue(JSON.parse(text), ""));
  } catch {
    return redact(/^\s*[[{]/.test(text) ? text.replace(values, `$1"${hidden}"`) : text);
  }
}

/** A query with its question mark, without secrets. */
export function redactQuery(query: URLSearchParams): string {
  const shown = [...query].map(([name, value]): [string, string] => [name, String(redactValue(value, name))]);
  return shown.length === 0 ? "" : `?${new URLSearchParams(shown)}`;
}
