import { session } from "./api.ts";
import { readUpcoming } from "./clock.ts";
import { control } from "./control.ts";
import { Action } from "./controls.tsx";
import { useRead } from "./live.ts";

const kinds = ["deployment", "generation", "instruments"];

/** Moves work of the pace `manual` or `polls` by one state. No job waits for such work, as one does for other work. */
export function Step({ family, id }: { readonly family: "deployments" | "generations"; readonly id: string }) {
  const isDev = session.value?.mode === "dev";
  const { data } = useRead(
    `step ${id}`,
    async () => (isDev ? readUpcoming() : undefined),
    ({ kind }) => kinds.includes(kind),
  );
  if (!data || data.some((one) => one.id === id)) return null;
  return (
    <Action icon="next" run={() => control.step(family, id)}>
      Step
    </Action>
  );
}
