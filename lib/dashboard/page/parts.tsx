import type { ComponentChildren } from "preact";
import { useId, useRef, useState } from "preact/hooks";
import { pageOf } from "./clock.ts";
import { Button, type ButtonProps } from "./controls.tsx";
import { href, place } from "./router.ts";
import { Empty, Loading, Text } from "./ui.tsx";

/** A table with rows of its own. A column without a name holds buttons. */
export const Table = ({
  head,
  kind,
  children,
}: {
  head: readonly string[];
  kind?: "differences" | "matrix";
  children: ComponentChildren;
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
  of: readonly T[] | undefined;
  error?: unknown;
  empty: ComponentChildren;
  columns: Readonly<Record<string, (one: T) => ComponentChildren>>;
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

/**
 * The one of a list whose details are open: the chosen one, whose name the URL holds. Before a choice it is the first,
 * which stays open while others arrive before it.
 */
export function useOpen<T>(of: readonly T[], nameOf: (one: T) => string, parameter: string): T | undefined {
  const last = useRef<string | undefined>(undefined);
  const named = (name: string | null | undefined) => of.find((one) => nameOf(one) === name);
  const open = named(place.value.query.get(parameter)) ?? named(last.current) ?? of[0];
  last.current = open && nameOf(open);
  return open;
}

/** A list of names with their values. */
export const Facts = ({ of }: { of: Readonly<Record<string, ComponentChildren>> }) => (
  <dl class="details">
    {Object.entries(of).map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
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
export const Block = ({ of, label, class: more = "" }: { of: string; label: string; class?: string }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must be reachable by the keyboard
  <section class={`block ${more}`} tabIndex={0} aria-label={label}>
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
  children = "Copy",
  ...button
}: Pick<ButtonProps, "reason" | "isIcon" | "kind"> & {
  /** A function if the text is long. */
  readonly text: string | (() => string);
  readonly children?: string;
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

/** Saves a text as a file. */
export function save(text: string, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** Code with a button that copies it. */
export const Code = ({ text, name }: { text: string; name: string }) => (
  <div class="code">
    <Block of={text} label={name} class="code-text" />
    <Copy text={text} />
  </div>
);

/** A secret that is shown once, ready to copy. */
export function Once({ label, secret }: { label: string; secret: string }) {
  const id = useId();
  return (
    <div class="once" role="status">
      <label for={id}>{label}</label>
      <p class="hint">It is shown only once. Copy it now.</p>
      <div class="row">
        <input id={id} class="mono" readOnly value={secret} onFocus={({ currentTarget }) => currentTarget.select()} />
        <Copy text={secret} />
      </div>
    </div>
  );
}

/** A text that people look up elsewhere, such as an identifier or a host: a link if it has a page, and a copy button. */
export function Ref({
  of,
  to = pageOf(of),
  children = of,
}: {
  of: string;
  to?: string | undefined;
  children?: string;
}) {
  const isOwn = to?.startsWith("/");
  const isHere = to === place.value.path;
  return (
    <span class="ref">
      {to === undefined || isHere ? (
        <Text of={children} class="mono" />
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
