import { api, orNone } from "./api.ts";
import { isOneOf, useRead } from "./live.ts";
import { hostOf, readReceivers } from "./receiver-health.tsx";

/** What a lane shows instead of an identifier. Deployments to one environment share its title. */
export type LaneNames = ReadonlyMap<string, string>;

/** The names of the newest deployments, generations and receivers, as far as this person may read them. */
export function useLaneNames(): LaneNames {
  const { data } = useRead(
    "lane-names",
    async (signal) => {
      const all = { per_page: 100 };
      const [projects, deployments, generations, receivers] = await Promise.all([
        orNone(api.projects.list(all, { signal })),
        orNone(api.deployments.list(all, { signal })),
        orNone(api.generations.list(all, { signal })),
        readReceivers(signal),
      ]);
      const projectNames = new Map(projects.data.map(({ id, name }) => [id, name]));
      return new Map<string, string>([
        ...projectNames,
        ...deployments.data.map(
          ({ id, project_id, environment }) =>
            [id, `${projectNames.get(project_id) ?? project_id} · ${environment}`] as const,
        ),
        ...generations.data.map(({ id, input, model }) => [id, String(input["prompt"] ?? model)] as const),
        ...receivers.map(({ id, name }) => [id, hostOf(name)] as const),
      ]);
    },
    isOneOf("event deployment generation record"),
  );
  return data ?? new Map();
}
