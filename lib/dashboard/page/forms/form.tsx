import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { FormDialog, type FormDialogProps } from "../controls.tsx";
import { FormValues, Labelled, type Labels, useValue } from "../labelled.tsx";

type Values = Readonly<Record<string, string>>;

/** The values of a form, all of them text, and the props that bind its fields to them. */
export function useForm<T extends Values>(initial: T) {
  const [values, setValues] = useState(initial);
  const set = (changes: Partial<T>) => setValues((before) => ({ ...before, ...changes }));
  const setter = (name: keyof T) => (value: string) => set({ [name]: value } as Partial<T>);
  return {
    values,
    set,
    /** Props for `Field` and `Area`. */
    field: (name: keyof T & string) => ({ name, value: values[name] ?? "", onInput: setter(name) }),
    /** Props for `Select`. */
    choice: (name: keyof T & string) => ({ name, value: values[name] ?? "", onChange: setter(name) }),
    /**
     * Resets the form to its initial values, or to the given ones, such as the stored values when the form opens again.
     */
    reset: (to: T = initial) => setValues(to),
  };
}

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
  readonly children: ComponentChildren | ((values: T) => ComponentChildren);
}) {
  const { values, set, reset } = useForm(start);
  return (
    <FormDialog {...dialog} onOpen={() => reset(start)} run={() => run(values)}>
      <FormValues.Provider value={{ values, set: (changes) => set(changes as Partial<T>) }}>
        {typeof children === "function" ? children(values) : children}
      </FormValues.Provider>
    </FormDialog>
  );
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
