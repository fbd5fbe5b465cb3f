import { useId, useState } from "preact/hooks";

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
    field: (name: keyof T & string) => ({ value: values[name] ?? "", onInput: setter(name) }),
    /** Props for `Select`. */
    choice: (name: keyof T & string) => ({ value: values[name] ?? "", onChange: setter(name) }),
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

interface AreaProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly hint?: string;
  readonly rows?: number;
  readonly required?: boolean;
}

/** A field for several lines of text. */
export function Area({ label, value, onInput, hint, rows = 4, required }: AreaProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        rows={rows}
        value={value}
        required={required}
        aria-describedby={hint && `${id}-hint`}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
      {hint && (
        <small id={`${id}-hint`} class="hint">
          {hint}
        </small>
      )}
    </div>
  );
}
