import { session } from "../api.ts";
import { control } from "../control.ts";
import { Select } from "../controls.tsx";

/** How a deployment ends, where deployments are simulated. */
export const Outcome = () =>
  session.value?.mode === "dev" && !session.value.hosts_repositories ? (
    <Select
      label="Outcome"
      name="at"
      options={[
        ["", "as usual, or as a scenario says"],
        ["building", "fails while building"],
        ["deploying", "fails while deploying"],
        ["health_check", "fails the health check"],
      ]}
    />
  ) : null;

/** Starts a deployment that fails at this point; an empty one ends as usual. */
export async function endingAt<T>(at: string, start: () => Promise<T>): Promise<T> {
  if (at === "") return start();
  const { id } = await control.addScenario({ next: "deployment", outcome: { result: "fail", at } });
  return start().catch(async (error) => {
    await control.removeScenario(id);
    throw error;
  });
}
