import type { Deployment, LogEntry } from "../../../client/generated/records.ts";
import { lengthOf, secondOf } from "../format-time.ts";
import { Status } from "../ui.tsx";

const way = ["queued", "building", "deploying"] as const;

/** The lines with which a rollout begins, or a build ends: simulated, of a process, of an image. */
const rolloutLine =
  /^(Rolling out |Built a release of |Stored an image of |Starting a container|The release is still stored)/;

/** When each state began, as far as record and log say. */
function beginnings({ created_at, status, updated_at }: Deployment, log: readonly LogEntry[]) {
  const at = (found: (message: string) => boolean) => log.find(({ message }) => found(message))?.timestamp;
  return {
    queued: created_at,
    building: status === "building" ? updated_at : at((message) => message === "Build started"),
    deploying: status === "deploying" ? updated_at : at((message) => rolloutLine.test(message)),
  };
}

/** The states of a deployment, past ones solid and future ones dashed, each with its time and length. */
export function States({ of, log }: { of: Deployment; log: readonly LogEntry[] }) {
  const { status, completed_at } = of;
  const isOver = completed_at !== null;
  const began = beginnings(of, log);
  const reached = way.filter((state) => began[state] !== undefined);
  // Without a line that shows it, only these two ends are certain to have passed every state.
  const passed = status === "active" || status === "rolled_back" ? way : reached;
  const shown = isOver ? passed : way;
  const now = (way as readonly string[]).indexOf(status);
  const end = isOver ? status : "active";
  return (
    <ol class="states" aria-label="States">
      {shown.map((state, i) => {
        const mark = isOver || i < now ? "past" : i === now ? "now" : "coming";
        const from = began[state];
        const next = shown[i + 1];
        const to = next ? began[next] : completed_at;
        const length = mark === "past" && from && to ? lengthOf(Date.parse(to) - Date.parse(from)) : "";
        return (
          <li key={state} class={mark} aria-current={mark === "now" ? "step" : undefined}>
            {mark === "coming" ? <span class="status">{state}</span> : <Status of={state} />}
            <small>
              {mark !== "coming" && from && `${mark === "now" ? "since " : ""}${secondOf(from)}`}
              {length && (
                <>
                  {" "}
                  <span class="nowrap">· {length}</span>
                </>
              )}
            </small>
          </li>
        );
      })}
      <li class={isOver ? "past outcome" : "coming outcome"}>
        {isOver ? <Status of={end} /> : <span class="status">{end}</span>}
        <small>{completed_at === null ? "" : secondOf(completed_at)}</small>
      </li>
    </ol>
  );
}
