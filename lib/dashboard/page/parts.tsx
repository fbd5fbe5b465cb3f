import { type ComponentChildren, Fragment } from "preact";
import { useState } from "preact/hooks";
import { Button } from "./controls.tsx";
import { Empty, Loading, Text } from "./ui.tsx";

interface Columns {
  readonly head: readonly string[];
  readonly wide?: readonly string[];
  readonly kind?: "differences" | "matrix";
}

/** A table of records. On a narrow screen it hides the `wide` columns. A column without a name holds buttons. */
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

/** A table of records. Until they are loaded it shows the loading state or the error; without records, `empty`. */
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

/** A list of names with their values. */
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

/** Converts values of any type to text. */
export const textsOf = (values: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, <Text key={name} of={wordsOf(value).slice(0, 2000)} />]),
  );

/** Longer text is cut on the screen; the API returns it in full. */
const mostShown = 20_000;

/** A block of text from elsewhere, safe whatever it contains. */
export const Block = ({ of, label }: { readonly of: string; readonly label: string }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must be reachable by the keyboard
  <section class="block" tabIndex={0} aria-label={label}>
    <pre dir="ltr">
      <bdi>{of.slice(0, mostShown)}</bdi>
      {of.length > mostShown && <em>{` … ${of.length - mostShown} more characters`}</em>}
    </pre>
  </section>
);

/** Indents JSON; leaves other text as it is. */
export function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** A button that copies a text and confirms it. */
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

/** Quotes a text for the shell, so that no character in it has a special meaning. */
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** The command that repeats a request. */
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
