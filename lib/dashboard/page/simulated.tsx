import type { LogEntry } from "../../client/generated/records.ts";
import { session } from "./api.ts";

/** Says that a deployment only looks like one: in `dev` without a runtime, and in `start` where its log says so. */
export function Simulated({ log }: { log: readonly LogEntry[] }) {
  const { mode, hosts_repositories: isReal } = session.value ?? {};
  const isTold = log[0]?.message.startsWith("This deployment is simulated");
  if (!(mode === "dev" ? isReal === false : isTold)) return null;
  return (
    <p class="hint">
      <strong>Simulated:</strong> nothing is built and nothing runs.
      {mode === "start" && (
        <>
          {" "}
          To run apps, start the service with <code>--runtime process</code>.
        </>
      )}
    </p>
  );
}
