import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { FormDialog, type FormDialogProps } from "../controls.tsx";
import { Check, FormValues, Labelled, type Labels, useValue } from "../labelled.tsx";

type Values = Readonly<Record<string, string>>;

/** The fields that are not empty. */
export const filled = <T extends Values>(values: T): Partial<T> =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value.trim() !== "")) as Partial<T>;

/** Splits a list of names at commas and white space. */
export const listOf = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean);

/** A button with a form of its own values, which begin as `start` each time it opens. Its fields find them by name. */
export function Form<T extends Values>({
  start,
  run,
  children,
  ...dialog
}: Omit<FormDialogProps, "run" | "onOpen" | "children"> & {
  readonly start: T;
  readonly run: (values: T) => Promise<unknown>;
  readonly children: ComponentChildren | ((values: T, set: (changes: Partial<T>) => void) => ComponentChildren);
}) {
  const [values, setValues] = useState(start);
  const set = (changes: object) => setValues((before) => ({ ...before, ...changes }));
  return (
    <FormDialog {...dialog} onOpen={() => setValues(start)} run={() => run(values)}>
      <FormValues.Provider value={{ values, set }}>
        {typeof children === "function" ? children(values, set) : children}
      </FormValues.Provider>
    </FormDialog>
  );
}

/** A checkbox of a form; its value is `true` once it is checked. */
export function CheckField({ isDisabled, ...labels }: { label: string; name: string; isDisabled?: boolean }) {
  const [value, set] = useValue(labels, undefined);
  return <Check label={labels.label} isDisabled={isDisabled} isOn={value === "true"} set={(on) => set(String(on))} />;
}

interface AreaProps extends Labels {
  readonly value?: string;
  readonly onInput?: (value: string) => void;
  readonly rows?: number;
  readonly required?: boolean;
  readonly class?: string;
}

/** A field for several lines of text. */
export const Area = ({ value, onInput, rows = 4, required, class: look, ...labels }: AreaProps) => {
  const [shown, set] = useValue(labels, value);
  return (
    <Labelled {...labels}>
      {(field) => (
        <textarea
          {...field}
          class={look}
          rows={rows}
          value={shown}
          required={required}
          spellcheck={look === undefined}
          onInput={({ currentTarget }) => (onInput ?? set)(currentTarget.value)}
        />
      )}
    </Labelled>
  );
};
