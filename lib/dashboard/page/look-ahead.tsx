import { signal } from "@preact/signals";
import { control, type Preview } from "./control.ts";
import { Action } from "./controls.tsx";

/** What a copy of the service did when it was last run ahead. */
export const lookedAhead = signal<Preview | undefined>(undefined);
/** How far to look. */
export const lookUntil = signal("1h");

/** The latest look, if its answer is still wanted. */
let latest: Promise<Preview> | undefined;

/** Runs a copy of the service ahead. Nothing changes here, and nothing is sent. */
export async function lookAhead(until = lookUntil.value): Promise<void> {
  lookUntil.value = until;
  const look = control.preview(/^\d/.test(until) ? { by: until } : { to: until });
  latest = look;
  const found = await look;
  if (latest === look) lookedAhead.value = found;
}

/** Removes what was found. A look that still runs shows nothing any more. */
export function forgetLook(): void {
  latest = undefined;
  lookedAhead.value = undefined;
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
