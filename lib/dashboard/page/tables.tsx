import type { DeploymentItem, Project } from "../../client/generated/records.ts";
import { api } from "./api.ts";
import { lengthOf } from "./format-time.ts";
import { useRead } from "./live.ts";
import { Table } from "./parts.tsx";
import { href } from "./router.ts";
import { Status, Text, Time } from "./ui.tsx";

/** The newest projects by id. Deployments of older projects show the project's id instead of its name. */
export function useProjects(): ReadonlyMap<string, Project> {
  const { data } = useRead(
    "project-names",
    async (signal) => api.projects.list({ per_page: 100 }, { signal }),
    ({ event }) => event?.startsWith("project.") ?? false,
  );
  return new Map(data?.data.map((project) => [project.id, project]));
}

const tookOf = ({ created_at, completed_at }: DeploymentItem) =>
  completed_at === null ? "" : lengthOf(Date.parse(completed_at) - Date.parse(created_at));

export function DeploymentRows({
  of,
  projects,
}: {
  readonly of: readonly DeploymentItem[];
  readonly projects: ReadonlyMap<string, Project>;
}) {
  return (
    <Table
      head={["State", "Deployment", "Project", "Environment", "Version", "Created", "Took"]}
      wide={["Version", "Took"]}
    >
      {of.map((one) => (
        <tr key={one.id}>
          <td>
            <Status of={one.status} />
          </td>
          <td>
            <a class="mono" href={href(`/deployments/${one.id}`)} title={one.id}>
              …{one.id.slice(-8)}
            </a>
          </td>
          <td>
            <a href={href(`/projects/${one.project_id}`)}>
              <Text of={projects.get(one.project_id)?.name ?? one.project_id} />
            </a>
          </td>
          <td>
            <Text of={one.environment} />
          </td>
          <td class="mono wide">{one.version?.slice(0, 12) ?? ""}</td>
          <td>
            <Time at={one.created_at} />
          </td>
          <td class="wide">{tookOf(one)}</td>
        </tr>
      ))}
    </Table>
  );
}
