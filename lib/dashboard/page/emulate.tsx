import { control } from "./control.ts";
import { Action } from "./controls.tsx";
import type { IconName } from "./icon.tsx";
import { lookAhead } from "./look-ahead.tsx";
import { recorded, startRecording } from "./recorder/recording.ts";
import { go } from "./router.ts";

type Deed = readonly [name: string, icon: IconName, hint: string, run: () => Promise<unknown>, page?: string];

const deeds: readonly Deed[] = [
  ["See the next hour", "telescope", "in a copy that sends nothing", () => lookAhead("1h"), "/timeline"],
  ["Turn clicks into a test", "record", "records the calls of this tab", startRecording],
  ["Keep this state", "camera", "to restore or compare it later", () => control.snapshot(""), "/snapshots"],
  ["Try it in a fork", "fork", "a second service on its own port", () => control.fork({ muted: true }), "/snapshots"],
];

/** What an emulator can do, and a service cannot: each begins here. */
export const Emulate = () => (
  <ul class="figures deeds" aria-label="Emulate">
    {deeds.map(([name, icon, hint, run, page]) => (
      <li key={name}>
        <Action
          kind="quiet"
          icon={icon}
          reason={icon === "record" && recorded.value !== undefined ? "It records now." : undefined}
          run={async () => {
            await run();
            if (page) go(page);
          }}
        >
          {name}
        </Action>
        <span class="hint">{hint}</span>
      </li>
    ))}
  </ul>
);
