import type { DeploymentItem } from "../../client/generated/records.ts";
import { api, orNone } from "./api.ts";
import { isOneOf, useRead } from "./live.ts";
import { hostOf, readReceivers } from "./receiver-health.tsx";

/** What a lane shows instead of an identifier. Deployments to one environment share its title. */
export type LaneNames = ReadonlyMap<string, string>;

/** Where a deployment goes never changes, so each is read once. */
const places = new Map<string, { readonly project_id: string; readonly environment: string }>();
const mostPages = 10;

/** Reads deployments, newest first, until one is known. */
async function readPlaces(signal: AbortSignal): Promise<void> {
  const found: DeploymentItem[] = [];
  let cursor: string | null = "";
  for (let page = 0; page < mostPages && cursor !== null; page++) {
    const list = api.deployments.list({ per_page: 100, ...(cursor && { cursor }) }, { signal });
    const [read] = (await orNone(list.then((one) => ({ data: [one] })))).data;
    found.push(...(read?.data ?? []));
    cursor = read?.data.some(({ id }) => places.has(id)) ? null : (read?.meta.next_cursor ?? null);
  }
  for (const { id, project_id, environment } of found) places.set(id, { project_id, environment });
}

/** The names of deployments, the newest generations, and receivers, as far as this person may read them. */
export function useLaneNames(): LaneNames {
  const { data } = useRead(
    "lane-names",
    async (signal) => {
      const all = { per_page: 100 };
      const [projects, generations, receivers] = await Promise.all([
        orNone(api.projects.list(all, { signal })),
        orNone(api.generations.list(all, { signal })),
        readReceivers(signal),
        readPlaces(signal),
      ]);
      const projectNames = new Map(projects.data.map(({ id, name }) => [id, name]));
      return new Map<string, string>([
        ...projectNames,
        ...[...places].map(
          ([id, { project_id, environment }]) =>
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
