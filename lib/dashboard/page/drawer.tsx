import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { done, type Ended, forgetPage, shown } from "./calls.ts";
import { Button } from "./controls.tsx";
import { commandOf, curlOf, typescriptOf } from "./forms/call-forms.ts";
import { Code } from "./parts.tsx";
import type { RecordedCall } from "./recorded-call.ts";
import { origin, place } from "./router.ts";
import { Text } from "./ui.tsx";

export const isDrawerOpen = signal(false);

const forms = {
  curl: curlOf,
  TypeScript: typescriptOf,
  "svc-server call": commandOf,
} as const;
type Form = keyof typeof forms;
const stored = "svc-form";
const isForm = (text: string | null): text is Form => text !== null && Object.hasOwn(forms, text);

/** The calls that the page shows and has made, as programs would make them. */
export function Drawer() {
  const panel = useRef<HTMLElement>(null);
  const isOpen = isDrawerOpen.value;
  useLayoutEffect(() => {
    if (!isOpen) return;
    const before = document.activeElement;
    panel.current?.focus();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, [isOpen]);
  // Leaving a page drops its reads without an owner.
  const { path } = place.value;
  useEffect(() => forgetPage, [path]);
  if (!isOpen) return null;
  return (
    <aside
      class="drawer"
      aria-label="Calls"
      tabIndex={-1}
      ref={panel}
      onKeyDown={(event) => {
        if (event.key === "Escape") isDrawerOpen.value = false;
      }}
    >
      <div class="section-head">
        <h2>Calls</h2>
        <Button kind="quiet" onClick={() => (isDrawerOpen.value = false)}>
          Close
        </Button>
      </div>
      <Calls />
    </aside>
  );
}

function Calls() {
  const [form, setForm] = useState<Form>(() => {
    const text = localStorage.getItem(stored);
    return isForm(text) ? text : "curl";
  });
  const choose = (text: Form) => {
    localStorage.setItem(stored, text);
    setForm(text);
  };
  return (
    <>
      <fieldset class="forms">
        <legend class="unseen">Form</legend>
        {(Object.keys(forms) as Form[]).map((one) => (
          <label key={one} class="check">
            <input type="radio" name="form" checked={one === form} onChange={() => choose(one)} />
            {one}
          </label>
        ))}
      </fieldset>
      <p class="hint">
        Set <code>SVC_API_KEY</code> to one of your keys first. The calls contain no keys and no secrets.
      </p>
      <List title="Made in this tab" of={done.value} form={form} isOpen>
        Nothing has been changed from this tab yet.
      </List>
      <List title="Read by this page" of={shown.value} form={form}>
        This page reads nothing.
      </List>
    </>
  );
}

function List({
  title,
  of,
  form,
  isOpen = false,
  children,
}: {
  title: string;
  of: readonly Ended[];
  form: Form;
  isOpen?: boolean;
  children: ComponentChildren;
}) {
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      {of.length === 0 && <p class="hint">{children}</p>}
      {of.map((one, i) => (
        <details key={`${one.call.method} ${one.call.path} ${of.length - i}`} class="call" open={isOpen && i === 0}>
          <summary>
            <strong>{one.call.id ?? one.call.path}</strong>{" "}
            <span class="hint">
              {one.call.method} <Text of={one.call.id ? one.call.path : ""} class="mono" />
              {one.problem !== undefined && `, refused: ${one.problem}`}
            </span>
          </summary>
          <Call text={forms[form](one.call, origin)} name={nameOf(one.call)} />
        </details>
      ))}
    </section>
  );
}

const Call = ({ text, name }: { text: string | undefined; name: string }) =>
  text === undefined ? (
    <p class="hint">No command makes this call. Use curl or TypeScript.</p>
  ) : (
    <Code text={text} name={name} />
  );

const nameOf = ({ id, method, path }: RecordedCall) => id ?? `${method} ${path}`;
