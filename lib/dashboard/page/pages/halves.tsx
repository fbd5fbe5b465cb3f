import type { ComponentChildren } from "preact";
import { Button } from "../controls.tsx";
import { place, setQuery } from "../router.ts";

/** A list beside the details of the record that is open. On a phone, the details of the chosen one replace the list. */
export const Halves = <T extends object>({
  of,
  open,
  nameOf,
  parameter,
  label,
  entry,
  more,
  children,
}: HalvesProps<T>) => (
  <div class={place.value.query.get(parameter) === null ? "halves" : "halves chosen"}>
    <ol class={`list ${label.toLowerCase()}`} aria-label={label}>
      {of.map((one) => (
        <li key={nameOf(one)}>
          <button
            type="button"
            class="entry"
            aria-current={one === open ? "true" : undefined}
            onClick={() => setQuery({ [parameter]: nameOf(one) })}
          >
            {entry(one)}
          </button>
        </li>
      ))}
      {more && <li class="hint">{more}</li>}
    </ol>
    <div class="stack">
      <span class="to-list">
        <Button kind="quiet" icon="back" onClick={() => setQuery({ [parameter]: "" })}>
          {`All ${label.toLowerCase()}`}
        </Button>
      </span>
      {children}
    </div>
  </div>
);
interface HalvesProps<T> {
  readonly of: readonly T[];
  readonly open: T | undefined;
  readonly nameOf: (one: T) => string;
  /** Where the URL holds the name of the open one. */
  readonly parameter: string;
  readonly label: "Deliveries" | "Mails";
  readonly entry: (one: T) => ComponentChildren;
  /** What stands under the list. */
  readonly more?: string | false;
  readonly children: ComponentChildren;
}
