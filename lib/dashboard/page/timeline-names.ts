import { api } from "./api.ts";
import { useRead } from "./live.ts";

/** What a lane shows instead of an identifier. Deployments to one environment share its title. */
export type LaneNames = ReadonlyMap<string, string>;

/** The names of the newest deployments, generations and receivers, as far as this person may read them. */
export function useLaneNames(): LaneNames {
  const { data } = useRead(
    "lane-names",
    async (signal) => {
      const all = { per_page: 100 };
      const empty = { data: [] };
      const [projects, deployments, generations, webhooks, integrations] = await Promise.all([
        api.projects.list(all, { signal }).catch(() => empty),
        api.deployments.list(all, { signal }).catch(() => empty),
        api.generations.list(all, { signal }).catch(() => empty),
        api.webhooks.list({}, { signal }).catch(() => empty),
        api.integrations.list({}, { signal }).catch(() => empty),
      ]);
      const projectNames = new Map(projects.data.map(({ id, name }) => [id, name]));
      return new Map<string, string>([
        ...deployments.data.map(
          ({ id, project_id, environment }) =>
            [id, `${projectNames.get(project_id) ?? project_id} · ${environment}`] as const,
        ),
        ...generations.data.map(({ id, input, model }) => [id, String(input["prompt"] ?? model)] as const),
        ...webhooks.data.map(({ id, url }) => [id, new URL(url).host] as const),
        ...integrations.data.map(({ id, name }) => [id, name] as const),
      ]);
    },
    ({ kind }) => kind === "event" || kind === "deployment" || kind === "generation" || kind === "record",
  );
  return data ?? new Map();
}
