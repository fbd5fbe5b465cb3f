import { session } from "./api.ts";
import { type Due, readUpcoming } from "./clock.ts";
import { control } from "./control.ts";
import { Action } from "./controls.tsx";
import { useRead } from "./live.ts";

const kinds = ["deployment", "generation", "instruments"];

/** Moves work of the pace `manual` or `polls` by one state. No job waits for such work, as one does for other work. */
export function Step({
  family,
  of: { id, status },
}: {
  readonly family: "deployments" | "generations";
  readonly of: { readonly id: string; readonly status: string };
}) {
  const isDev = session.value?.mode === "dev";
  const { data } = useRead(
    `step ${id}`,
    async () => (isDev ? readUpcoming() : undefined),
    ({ kind }) => kinds.includes(kind),
  );
  // The job that starts queued work names none of it.
  const waits = (one: Due) => one.id === id || (status === "queued" && one.kind.startsWith(`${family}.turn`));
  if (!data || data.some(waits)) return null;
  return (
    <Action icon="next" run={() => control.step(family, id)}>
      Step
    </Action>
  );
}
