import { type ComponentChildren, Fragment } from "preact";
import { useState } from "preact/hooks";
import { pageOf } from "./clock.ts";
import { Button, type ButtonProps } from "./controls.tsx";
import { href } from "./router.ts";
import { Empty, Loading, Text } from "./ui.tsx";

/** A table with rows of its own. A column without a name holds buttons. */
export const Table = ({
  head,
  kind,
  children,
}: {
  readonly head: readonly string[];
  readonly kind?: "differences" | "matrix";
  readonly children: ComponentChildren;
}) => (
  <div class="table-place">
    <table class={`rows ${kind ?? ""}`}>
      <thead>
        <tr>
          {head.map((name) => (
            <th key={name} scope="col">
              {name === "" ? <span class="unseen">Actions</span> : name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </div>
);

/**
 * A table of records: each column has a name and its cell. Until they are loaded it shows the loading state or the
 * error; without records, `empty`. Where the table does not fit, each record is a card with the names in it.
 */
export function Records<T extends object>({
  of,
  error,
  empty,
  columns,
}: {
  readonly of: readonly T[] | undefined;
  readonly error?: unknown;
  readonly empty: ComponentChildren;
  readonly columns: Readonly<Record<string, (one: T) => ComponentChildren>>;
}) {
  if (!of) return <Loading error={error} />;
  if (of.length === 0) return <Empty>{empty}</Empty>;
  return (
    <Table head={Object.keys(columns)}>
      {of.map((one, i) => (
        <tr key={"id" in one ? String(one.id) : i}>
          {Object.entries(columns).map(([name, cell]) => (
            <td key={name} data-label={name || undefined} class={name === "" ? "end" : undefined}>
              {cell(one)}
            </td>
          ))}
        </tr>
      ))}
    </Table>
  );
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
  ...button
}: Pick<ButtonProps, "reason" | "isIcon" | "kind"> & {
  /** A function if the text is long. */
  readonly text: string | (() => string);
  readonly children: string;
}) {
  const [copied, setCopied] = useState<string>();
  const isCopied = copied !== undefined && (copied === text || typeof text === "function");
  const copy = async () => {
    const whole = typeof text === "string" ? text : text();
    await navigator.clipboard.writeText(whole);
    setCopied(whole);
  };
  return (
    <Button {...button} icon={isCopied ? "check" : "copy"} onClick={copy}>
      {isCopied ? "Copied" : children}
    </Button>
  );
}

/** A text that people look up elsewhere, such as an identifier or a host: a link if it has a page, and a copy button. */
export function Ref({
  of,
  to = pageOf(of),
  children = of,
}: {
  readonly of: string;
  readonly to?: string | undefined;
  readonly children?: string;
}) {
  const isOwn = to?.startsWith("/");
  return (
    <span class="ref">
      {to === undefined ? (
        <span class="mono">
          <Text of={children} />
        </span>
      ) : (
        <a class="mono" {...(isOwn ? { href: href(to) } : { href: to, target: "_blank", rel: "noreferrer noopener" })}>
          <Text of={children} />
        </a>
      )}
      <Copy text={of} kind="quiet" isIcon>
        Copy to the clipboard
      </Copy>
    </span>
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
