import { useState } from "preact/hooks";
import { FormDialog } from "../controls.tsx";
import { Area } from "./form.tsx";

/** A form for JSON, which can hold everything that the control interface accepts. */
export function JsonForm({
  label,
  start,
  run,
}: {
  label: string;
  start: object;
  run: (given: unknown) => Promise<unknown>;
}) {
  const [text, setText] = useState(JSON.stringify(start, null, 2));
  const send = async () => {
    let given: unknown;
    try {
      given = JSON.parse(text);
    } catch (error) {
      throw new Error(`This is not JSON: ${error instanceof Error ? error.message : String(error)}`);
    }
    await run(given);
  };
  return (
    <FormDialog label={label} submit="Add" run={send}>
      <Area label="JSON" class="mono" rows={12} value={text} onInput={setText} />
    </FormDialog>
  );
}

/** A whole number; undefined for an empty field. The service explains invalid values. */
export const numberOf = (text: string): number | undefined => (text.trim() === "" ? undefined : Number(text));
