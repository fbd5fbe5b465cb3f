import type { ComponentChildren } from "preact";
import { Action, FormDialog } from "../controls.tsx";
import { JsonForm } from "../forms/json-form.tsx";
import { type Change, useRead } from "../live.ts";
import { Records } from "../parts.tsx";
import { Page, Section } from "../ui.tsx";

interface RulesProps<T> {
  readonly noun: "scenario" | "fault";
  readonly read: () => Promise<readonly T[]>;
  readonly concerns: (change: Change) => boolean;
  readonly add: (given: unknown) => Promise<unknown>;
  readonly remove: (id: string) => Promise<unknown>;
  readonly clear: () => Promise<unknown>;
  /** Rules that people often want, each added by one press. */
  readonly examples: Readonly<Record<string, object>>;
  /** What the field for JSON starts with. */
  readonly json: object;
  /** The button and the form for a new one. */
  readonly form: ComponentChildren;
  readonly hint: ComponentChildren;
  readonly empty: string;
  readonly columns: Readonly<Record<string, (one: T) => ComponentChildren>>;
  /** What holds again without one of the rules, and without any. */
  readonly without: readonly [one: string, all: string];
}

/** The page of the rules by which the emulator behaves otherwise. */
export function Rules<T extends { readonly id: string }>(of: RulesProps<T>) {
  const { noun, examples, without } = of;
  const { data, error } = useRead(`${noun}s`, of.read, of.concerns);
  const columns = {
    ...of.columns,
    "": ({ id }: T) => (
      <FormDialog label="Remove" title={`Remove this ${noun}?`} kind="danger" run={() => of.remove(id)}>
        <p>{without[0]}</p>
      </FormDialog>
    ),
  };
  return (
    <Page
      title={noun === "fault" ? "Faults" : "Scenarios"}
      actions={
        <>
          {of.form}
          <JsonForm label="Add JSON" start={of.json} run={of.add} />
          <FormDialog
            label="Remove all"
            title={`Remove all ${noun}s?`}
            kind="danger"
            reason={data?.length === 0 ? `There is no ${noun}.` : undefined}
            run={of.clear}
          >
            <p>{without[1]}</p>
          </FormDialog>
        </>
      }
    >
      <p class="hint">{of.hint}</p>
      <Section title="Examples">
        <div class="row">
          {Object.entries(examples).map(([name, example]) => (
            <Action key={name} run={() => of.add(example)}>
              {name}
            </Action>
          ))}
        </div>
      </Section>
      <Records of={data} error={error} empty={of.empty} columns={columns} />
    </Page>
  );
}
