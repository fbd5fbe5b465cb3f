import type { ComponentChildren } from "preact";
import { Button } from "../controls.tsx";
import { place, setQuery } from "../router.ts";

/** A list beside the details of the record that is open. On a phone, the details of the chosen one replace the list. */
export const Halves = ({ parameter, back, list, children }: HalvesProps) => (
  <div class={place.value.query.get(parameter) === null ? "halves" : "halves chosen"}>
    {list}
    <div class="stack">
      <span class="to-list">
        <Button kind="quiet" icon="back" onClick={() => setQuery({ [parameter]: "" })}>
          {back}
        </Button>
      </span>
      {children}
    </div>
  </div>
);
interface HalvesProps {
  readonly parameter: string;
  readonly back: string;
  readonly list: ComponentChildren;
  readonly children: ComponentChildren;
}
