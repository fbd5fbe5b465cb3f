import { signal } from "@preact/signals";
import { control, type Preview } from "./control.ts";
import { Action } from "./controls.tsx";

/** What a copy of the service did when it was last run ahead. */
export const lookedAhead = signal<Preview | undefined>(undefined);
/** How far to look. */
export const lookUntil = signal("1h");

/** Runs a copy of the service ahead. Nothing changes here, and nothing is sent. */
export async function lookAhead(until = lookUntil.value): Promise<void> {
  lookUntil.value = until;
  lookedAhead.value = await control.preview(/^\d/.test(until) ? { by: until } : { to: until });
}

export const LookAhead = ({ open }: { open: () => void }) => (
  <Action
    kind="quiet"
    icon="telescope"
    run={async () => {
      await lookAhead();
      open();
    }}
  >
    Look ahead
  </Action>
);
