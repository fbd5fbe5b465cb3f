import type { DeploymentItem, Project } from "../../client/generated/records.ts";
import { lengthOf } from "./format-time.ts";
import { Redeploy } from "./forms/deploy.tsx";
import { useCall } from "./live.ts";
import { useNames } from "./names.ts";
import { Records } from "./parts.tsx";
import { href } from "./router.ts";
import { refOf, shortVersion, useSources } from "./sources.ts";
import { Link, Status, Text, Time } from "./ui.tsx";

/** The newest projects by id. Deployments of older projects show the project's id instead of its name. */
export function useProjects(): ReadonlyMap<string, Project> {
  const { data } = useCall("projects.list", { per_page: 100 }, "project.");
  return new Map(data?.data.map((project) => [project.id, project]));
}

export const tookOf = ({ created_at, completed_at }: Pick<DeploymentItem, "created_at" | "completed_at">) =>
  completed_at === null ? "" : lengthOf(Date.parse(completed_at) - Date.parse(created_at));

/** Deployments as a table; without the projects, those of one project. */
export function DeploymentRows(given: { of: readonly DeploymentItem[]; projects?: ReadonlyMap<string, Project> }) {
  const { of, projects } = given;
  const sources = useSources(of.map(({ id }) => id));
  const names = useNames();
  return (
    <Records
      of={of}
      empty="Nothing has been deployed yet."
      columns={{
        Deployment: ({ id, version }) => {
          const source = sources.get(id);
          const short = shortVersion(version);
          return (
            <a class="lead" href={href(`/deployments/${id}`)} title={id}>
              <Text of={source ? refOf(source) : short || `…${id.slice(-8)}`} class="strong" />{" "}
              {source && refOf(source) !== version && <span class="mono">{short}</span>}
              <span class="hint">
                {source?.restores && "rollback, "}
                <Text of={source?.repo ?? source?.image_url ?? ""} /> <span class="mono">…{id.slice(-8)}</span>
              </span>
            </a>
          );
        },
        State: ({ status }) => <Status of={status} />,
        ...(projects && {
          Project: ({ project_id }: DeploymentItem) => (
            <Link to={`/projects/${project_id}`} of={projects.get(project_id)?.name ?? project_id} />
          ),
        }),
        Environment: ({ environment }) => <Text of={environment} />,
        By: ({ created_by }) => created_by && <Text of={names.person(created_by.user_id) || created_by.via} />,
        Created: ({ created_at }) => <Time at={created_at} />,
        Took: tookOf,
        "": (one) => <Redeploy of={one} isQuiet />,
      }}
    />
  );
}
