import { useState } from "preact/hooks";
import { Labelled, type Labels } from "../labelled.tsx";

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

interface AreaProps extends Labels {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly rows?: number;
  readonly required?: boolean;
  readonly class?: string;
}

/** A field for several lines of text. */
export const Area = ({ value, onInput, rows = 4, required, class: look, ...labels }: AreaProps) => (
  <Labelled {...labels}>
    {(field) => (
      <textarea
        {...field}
        class={look}
        rows={rows}
        value={value}
        required={required}
        spellcheck={look === undefined}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
    )}
  </Labelled>
);
