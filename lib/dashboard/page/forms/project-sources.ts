import { api } from "../api.ts";
import { useRead } from "../live.ts";
import { readSources } from "../sources.ts";

export const environmentsOf = async (id: string, signal?: AbortSignal) =>
  (await api.environments.list({ id }, { signal })).data.map(({ name }) => name);

/** The environments of a project, its latest deployments and what they deployed. */
export function useProjectSources(project_id: string) {
  return useRead(
    `project sources ${project_id}`,
    async (signal) => {
      if (project_id === "") return { environments: [], latest: [], sources: new Map() as never };
      const [environments, latest] = await Promise.all([
        environmentsOf(project_id, signal),
        api.deployments.list({ project_id, per_page: 50 }, { signal }),
      ]);
      const ids = latest.data.map(({ id }) => id);
      const sources = await readSources(ids, signal);
      return { environments, latest: latest.data, sources };
    },
    ({ kind, id }) => kind === "deployment" || id === project_id,
  ).data;
}

/** The texts of a list, each once. */
export const unique = (of: readonly (string | null | undefined)[]) => [
  ...new Set(of.filter((one): one is string => typeof one === "string" && one !== "")),
];

/** The environment that people most often mean. */
export const usual = (environments: readonly string[]) =>
  environments.includes("production") ? "production" : (environments[0] ?? "production");
