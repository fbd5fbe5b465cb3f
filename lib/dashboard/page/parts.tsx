import { type ComponentChildren, Fragment } from "preact";
import { useState } from "preact/hooks";
import { Button } from "./controls.tsx";
import { Empty, Loading, Text } from "./ui.tsx";

interface Columns {
  readonly head: readonly string[];
  readonly wide?: readonly string[];
  readonly kind?: "differences" | "matrix";
}

/** A table of records. Columns of `wide` give way on a narrow screen; one without a name holds buttons. */
export const Table = ({
  head,
  wide = [],
  kind,
  children,
}: Columns & {
  readonly children: ComponentChildren;
}) => (
  <div class="table-place">
    <table class={`rows ${kind ?? ""}`}>
      <thead>
        <tr>
          {head.map((name) => (
            <th key={name} scope="col" class={wide.includes(name) ? "wide" : undefined}>
              {name === "" ? <span class="unseen">Actions</span> : name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </div>
);

/** A table of records. Until they are read, the reason; `empty` if there are none. */
export function Records<T>({
  of,
  error,
  empty,
  row,
  ...columns
}: Columns & {
  readonly of: readonly T[] | undefined;
  readonly error?: unknown;
  readonly empty: ComponentChildren;
  readonly row: (one: T) => ComponentChildren;
}) {
  if (!of) return <Loading error={error} />;
  return of.length === 0 ? <Empty>{empty}</Empty> : <Table {...columns}>{of.map(row)}</Table>;
}

/** Names and their values. */
export const Facts = ({ of }: { readonly of: Readonly<Record<string, ComponentChildren>> }) => (
  <dl class="details">
    {Object.entries(of).map(([name, value]) => (
      <Fragment key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </Fragment>
    ))}
  </dl>
);

const wordsOf = (value: unknown): string => {
  if (Array.isArray(value)) return value.map(wordsOf).join(", ");
  return typeof value === "string" ? value : JSON.stringify(value);
};

/** Values of any kind as text. */
export const textsOf = (values: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, <Text key={name} of={wordsOf(value).slice(0, 2000)} />]),
  );

/** More than this is cut on the screen; the interface has it whole. */
const mostShown = 20_000;

/** Text of others in its own lines, whatever it holds. */
export const Block = ({ of, label }: { readonly of: string; readonly label: string }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must be reachable by the keyboard
  <section class="block" tabIndex={0} aria-label={label}>
    <pre dir="ltr">
      <bdi>{of.slice(0, mostShown)}</bdi>
      {of.length > mostShown && <em>{` … ${of.length - mostShown} more characters`}</em>}
    </pre>
  </section>
);

/** JSON, indented; text that is no JSON as it is. */
export function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** Copies a text, and says that it did. */
export function Copy({
  text,
  children,
  reason,
}: {
  readonly text: string;
  readonly children: string;
  readonly reason?: string | undefined;
}) {
  const [isCopied, setCopied] = useState(false);
  return (
    <Button reason={reason} onClick={() => navigator.clipboard.writeText(text).then(() => setCopied(true))}>
      {isCopied ? "Copied" : children}
    </Button>
  );
}

/** A text in quotation marks of the shell, where nothing in it has a meaning. */
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** The command that sends a request again. */
export const curlOf = ({
  url,
  headers,
  body,
}: {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}): string =>
  [
    `curl -X POST ${quoted(url)}`,
    ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    `--data-raw ${quoted(body)}`,
  ].join(" \\\n  ");
