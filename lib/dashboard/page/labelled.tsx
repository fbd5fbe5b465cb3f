import { type ComponentChildren, createContext } from "preact";
import { useContext, useId } from "preact/hooks";
import { ClientProblem } from "../../client/problem.ts";
import { sentenceOf } from "./api.ts";

/** The values of the form around a field, by name. */
export const FormValues = createContext<{
  readonly values: Readonly<Record<string, string>>;
  readonly set: (changes: Record<string, string>) => void;
}>({ values: {}, set: () => {} });

/** What is wrong with the fields of a form, by the name of the field. */
type Problems = Readonly<Record<string, string>>;
export const FormProblems = createContext<Problems>({});

/** An error for people who read the page: from this many choices on, the field's own list is enough. */
const mostChoices = 6;
const start = "must be one of ";

function wordsOf(message: string, hasList: boolean): string {
  const [rule = message] = message.split("; ");
  const isLong = rule.startsWith(start) && rule.split(", ").length > mostChoices;
  return isLong && hasList ? "must be one of the suggested names" : rule;
}

const inputsOf = (form: HTMLFormElement | null) =>
  [...(form?.elements ?? [])].filter((one): one is HTMLInputElement => "labels" in one && "name" in one);

/** Throws unless each required field has a value: said as any other error, and not in the words of the browser. */
export function requireFilled(form: HTMLFormElement | null): void {
  const details = inputsOf(form).flatMap(({ name, validity }) =>
    validity.valueMissing ? [{ path: name, message: "is missing" }] : [],
  );
  if (details.length > 0) throw new ClientProblem("validation_failed", "A field is empty", { details });
}

/** The field that alone is the cause of a conflict, by the code of the error. */
const causes: Readonly<Record<string, string>> = {
  name_taken: "name",
  already_member: "email",
  invitation_pending: "email",
  domain_taken: "domains",
  project_archived: "project",
};

/** Gives each broken rule to its field. Returns the rules that no field of the form is about as a sentence. */
export function placed(error: unknown, form: HTMLFormElement | null) {
  const details = error instanceof ClientProblem ? error.details : [];
  const inputs = inputsOf(form);
  const fields: Record<string, string> = {};
  const cause = error instanceof ClientProblem && inputs.find(({ name }) => name === causes[error.code]);
  if (cause) return { fields: { [cause.name]: sentenceOf(error) }, rest: undefined, first: cause };
  const others = details.filter(({ path, message }) => {
    const input =
      inputs.find(({ name }) => name !== "" && `.${path}.`.includes(`.${name}.`)) ??
      inputs.find(({ value }) => value !== "" && path.endsWith(`.${value.trim()}`));
    if (!input) return true;
    // The rule of one entry of a list: names the entry.
    const at = /\.(\d+)$/.exec(path)?.[1];
    const entry = at === undefined ? undefined : input.value.split(/[\s,]+/).filter(Boolean)[Number(at)];
    const label = input.labels?.[0]?.textContent ?? "";
    const subject = entry === undefined ? label : `${label}: ${entry}`;
    fields[input.name] ??= `${subject} ${wordsOf(message, input.list !== null)}.`;
    return false;
  });
  const isPlaced = details.length > 0 && others.length === 0;
  const rest = error === undefined || isPlaced ? undefined : sentenceOf(error, others);
  return { fields, rest, first: inputs.find(({ name }) => fields[name] !== undefined) };
}

export interface Labels {
  readonly label: string;
  /** The name of the field in the API, by which errors find it; otherwise the label says it. */
  readonly name?: string | undefined;
  readonly hint?: string | undefined;
  readonly reason?: string | undefined;
  readonly isBare?: boolean;
  readonly placeholder?: string;
}

const nameOf = (label: string) => label.toLowerCase().replaceAll(" ", "_");

/** The value of a field and how to change it: its own, or those of the form around it. */
export function useValue({ label, name = nameOf(label) }: Labels, own: string | undefined) {
  const { values, set } = useContext(FormValues);
  return [own ?? values[name] ?? "", (text: string) => set({ [name]: text })] as const;
}

/** A field with its name, its hint, and what is wrong with it. */
export function Labelled({
  label,
  name = nameOf(label),
  hint,
  reason,
  isBare,
  placeholder,
  children,
}: Labels & { readonly children: (field: Record<string, unknown> & { readonly id: string }) => ComponentChildren }) {
  const id = useId();
  const problem = useContext(FormProblems)[name];
  const about = Object.entries({ problem, hint, reason }).flatMap(([kind, text]) => (text ? [`${id}-${kind}`] : []));
  return (
    <div class="field" title={reason}>
      <label for={id} class={isBare ? "unseen" : undefined}>
        {label}
      </label>
      {children({
        id,
        name,
        placeholder,
        disabled: reason !== undefined,
        "aria-invalid": problem === undefined ? undefined : "true",
        "aria-describedby": about.join(" ") || undefined,
      })}
      {problem && (
        <p id={`${id}-problem`} class="problem" role="alert">
          {problem}
        </p>
      )}
      {hint && (
        <small id={`${id}-hint`} class="hint">
          {hint}
        </small>
      )}
      {reason !== undefined && (
        <span id={`${id}-reason`} class="unseen">
          {reason}
        </span>
      )}
    </div>
  );
}

interface CheckProps {
  readonly label: string;
  readonly isOn: boolean;
  readonly isDisabled?: boolean | undefined;
  readonly set: (on: boolean) => void;
}

/** A checkbox with its label. */
export const Check = ({ label, isOn, isDisabled, set }: CheckProps) => (
  <label class="check">
    <input
      type="checkbox"
      checked={isOn}
      disabled={isDisabled}
      onChange={({ currentTarget }) => set(currentTarget.checked)}
    />
    {label}
  </label>
);
