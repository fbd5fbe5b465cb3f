import type { DeliveryDetail } from "../../../client/generated/records.ts";
import { isSecretName } from "../../../kernel/secrets/secret-redaction.ts";
import type { RecordedCall } from "../recorded-call.ts";

/** Stands for a secret in a body. The forms of a call never show the secret, but an environment variable instead. */
export class Secret {
  readonly variable: string;
  /** Its placeholder in a test. For a URL it keeps the host. */
  readonly placeholder: string;
  constructor(name: string, value = "") {
    const upper = name.toUpperCase().replaceAll(/\W/g, "_");
    this.variable = upper === "SECRET" ? upper : `SECRET_${upper}`;
    this.placeholder = `${/^https:\/\/[^/?#@]+\//.exec(value)?.[0] ?? ""}placeholder`;
  }
}

type Tree = { readonly [name: string]: unknown };
const isTree = (value: unknown): value is Tree =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Secret);

/** Replaces each secret in a value, recognized by its name, its format, or a mark as secret. */
export function withoutSecrets(value: unknown, name = ""): unknown {
  if (typeof value === "string") {
    const isSecret = isSecretName(name) || name === "webhook_url" || /^(sk_live_|whsec_)/.test(value);
    return isSecret && value !== "" ? new Secret(name, value) : value;
  }
  if (Array.isArray(value)) return value.map((one) => withoutSecrets(one, name));
  if (!isTree(value)) return value;
  if (value["secret"] === true && typeof value["value"] === "string")
    return { ...value, value: new Secret(name === "" ? "value" : name) };
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, withoutSecrets(one, name === "headers" ? "secret" : key)]),
  );
}

/** Characters that control a terminal or change the direction of the text around them. */
const control = /[\p{Cc}\p{Cf}\u2028\u2029]/u;
const escaped = (json: string) =>
  json.replaceAll(new RegExp(control, "gu"), (found) =>
    [...Array(found.length).keys()].map((i) => `\\u${found.charCodeAt(i).toString(16).padStart(4, "0")}`).join(""),
  );

/** JSON as a sequence of text and secrets. */
function piecesOf(value: unknown): readonly (string | Secret)[] {
  const secrets: Secret[] = [];
  let mark = "~";
  while (JSON.stringify(value).includes(mark)) mark += "~";
  const text = JSON.stringify(value, (_, one) => (one instanceof Secret ? mark + (secrets.push(one) - 1) + mark : one));
  return escaped(text)
    .split(mark)
    .map((piece, i) => (i % 2 === 0 ? piece : (secrets[Number(piece)] ?? piece)));
}

const quoted = (text: string) => (/^[\w.,:/=@%+*-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);
const inShell = (pieces: readonly (string | Secret)[]) =>
  pieces.map((piece) => (piece instanceof Secret ? `"$${piece.variable}"` : piece && quoted(piece))).join("");

const curl = (method: string, url: string, headers: readonly string[], body: string | undefined): string =>
  [
    `curl ${method === "GET" ? "" : `-X ${method} `}${quoted(url)}`,
    ...headers.map((header) => `-H ${header}`),
    ...(body === undefined ? [] : [`--data-raw ${body}`]),
  ].join(" \\\n  ");

export function curlOf({ id, method, path, body }: RecordedCall, origin: string): string {
  const headers = [
    ...(id === undefined ? [] : ['"Authorization: Bearer $SVC_API_KEY"']),
    ...(body === undefined ? [] : [quoted("Content-Type: application/json")]),
  ];
  return curl(method, origin + path, headers, body === undefined ? undefined : inShell(piecesOf(withoutSecrets(body))));
}

/** The command that repeats a delivery. */
export const curlOfDelivery = ({ url, headers, body }: DeliveryDetail["request"]): string =>
  curl(
    "POST",
    url,
    Object.entries(headers).map(([name, value]) => quoted(`${name}: ${value}`)),
    quoted(body),
  );

const isName = (text: string) => /^[A-Za-z_$][\w$]*$/.test(text);

/** So many equal values are written one by one. */
const mostEqual = 10;

/** A value as TypeScript source. `written` can override how a part is written. */
export function literalOf(value: unknown, written: (value: unknown) => string | undefined = () => undefined): string {
  const own = written(value);
  if (own !== undefined) return own;
  if (value instanceof Secret) return `process.env.${value.variable}`;
  if (Array.isArray(value)) {
    const texts = value.map((one) => literalOf(one, written));
    const isLong = texts.length > mostEqual && texts.every((one) => one === texts[0]);
    return isLong ? `Array(${texts.length}).fill(${texts[0]})` : `[${texts.join(", ")}]`;
  }
  if (!isTree(value)) return escaped(JSON.stringify(value) ?? "undefined");
  const fields = Object.entries(value)
    .filter(([, one]) => one !== undefined)
    .map(([name, one]) => `${isName(name) ? name : escaped(JSON.stringify(name))}: ${literalOf(one, written)}`);
  return fields.length === 0 ? "{}" : `{ ${fields.join(", ")} }`;
}

/**
 * The input for the typed client and the command: path, query and body in one object. A query holds text, so digits
 * become numbers here.
 */
export const inputOf = ({ params, query, body }: RecordedCall): Tree => ({
  ...params,
  ...Object.fromEntries(
    Object.entries(query).map(([name, text]) => [name, /^\d{1,9}$/.test(text) ? Number(text) : text]),
  ),
  ...(withoutSecrets(body ?? {}) as Tree),
});

export function typescriptOf(call: RecordedCall, origin: string): string {
  const { id, method, path, body } = call;
  if (id === undefined) {
    const init = {
      method,
      ...(body !== undefined && { headers: { "content-type": "application/json" } }),
    };
    const more = body === undefined ? "" : `, body: JSON.stringify(${literalOf(withoutSecrets(body))})`;
    return `const response = await fetch(${literalOf(origin + path)}, ${literalOf(init).replace(/ \}$/, "")}${more} });
console.log(await response.json());`;
  }
  const input = literalOf(inputOf(call));
  return `import { createClient } from "svc-server/client";

const client = createClient({ baseUrl: ${literalOf(`${origin}/v1`)}, apiKey: process.env.SVC_API_KEY });
console.log(await client.${id}(${input === "{}" ? "" : input}));`;
}

/** The command-line arguments for an input; undefined if arguments cannot express it. */
function wordsOf(input: Tree, prefix = ""): string[] | undefined {
  const words: string[] = [];
  for (const [name, value] of Object.entries(input)) {
    const place = prefix + name;
    if (!/^[\w-]+$/.test(name)) return undefined;
    if (value instanceof Secret) words.push(`${place}="$${value.variable}"`);
    else if (isTree(value)) {
      const below = wordsOf(value, `${place}.`);
      if (!below || below.length === 0) return undefined;
      words.push(...below);
    } else if (Array.isArray(value)) {
      if (!value.every((one) => typeof one === "string" && isPlain(one) && !one.includes(","))) return undefined;
      words.push(`${place}=${quoted(value.join(","))}`);
    } else if (typeof value === "string" ? isPlain(value) : value !== undefined)
      words.push(`${place}=${value === "" ? "" : quoted(String(value))}`);
    else if (value !== undefined) return undefined;
  }
  return words;
}

/** Text that the command line reads as text even if the field allows other types. */
const isPlain = (text: string) => !control.test(text) && !/^(-?\d+(\.\d+)?|true|false|null|[[{"].*)$/s.test(text);

/** Commands for calls of the control interface, which `svc-server call` cannot make. */
const commands: readonly (readonly [call: RegExp, words: (found: RegExpExecArray, body: Tree) => string])[] = [
  [/^GET \/_svc\/clock$/, () => "clock show"],
  [
    /^POST \/_svc\/clock\/advance$/,
    (_, { by, to }) => `clock advance ${by === undefined ? `--to ${quoted(String(to))}` : quoted(String(by))}`,
  ],
  [/^POST \/_svc\/snapshots$/, () => "snapshots create"],
  [
    /^POST \/_svc\/snapshots\/([^/]+)\/restore$/,
    ([, id = ""]) => `snapshots restore ${quoted(decodeURIComponent(id))}`,
  ],
  [/^POST \/_svc\/reset$/, () => "reset"],
];

/** The command that makes this call; undefined if there is none. */
export function commandOf(call: RecordedCall, origin: string): string | undefined {
  const url = `--url ${quoted(origin)}`;
  if (call.id === undefined) {
    for (const [pattern, words] of commands) {
      const found = pattern.exec(`${call.method} ${call.path}`);
      if (found) return `svc-server ${words(found, isTree(call.body) ? call.body : {})} ${url}`;
    }
    return undefined;
  }
  const input = inputOf(call);
  const words = wordsOf(input);
  if (words) return ["svc-server call", call.id, ...words, url].join(" ");
  const json = piecesOf(input)
    .map((piece) => (piece instanceof Secret ? `$${piece.variable}` : piece.replaceAll(/[\\$`]/g, "\\$&")))
    .join("");
  return `svc-server call ${call.id} body=@- ${url} <<END\n${json}\nEND`;
}
