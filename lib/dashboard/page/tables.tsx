import type { DeploymentItem, Project } from "../../client/generated/records.ts";
import { lengthOf } from "./format-time.ts";
import { Redeploy } from "./forms/deploy.tsx";
import { useCall, useRead } from "./live.ts";
import { useNames } from "./names.ts";
import { reasonOf } from "./overview-data.ts";
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
  completed_at === null || completed_at < created_at ? "" : lengthOf(Date.parse(completed_at) - Date.parse(created_at));

/** Which of these is live in its environment, and which another replaced; undefined where neither is sure. */
function useStanding(of: readonly DeploymentItem[], project_id: string | undefined) {
  const filter = { status: "active", per_page: 100, ...(project_id && { project_id }) } as const;
  const { data } = useCall("deployments.list", filter, "deployment");
  return (one: DeploymentItem): "live" | "replaced" | undefined => {
    if (one.status !== "active" || !data) return undefined;
    const isAfter = ({ id, status, project_id, environment }: DeploymentItem) =>
      status === "active" && id > one.id && project_id === one.project_id && environment === one.environment;
    if (data.data.some(isAfter) || of.some(isAfter)) return "replaced";
    const [oldest] = data.data.slice(-1);
    return data.meta.next_cursor === null || (oldest && oldest.id <= one.id) ? "live" : undefined;
  };
}

/** So many of the newest failures in a list say why. */
const mostReasons = 10;

/** Why deployments failed, by id. */
function useReasons(of: readonly DeploymentItem[]): ReadonlyMap<string, string> {
  const failed = of.filter(({ status }) => status === "failed").slice(0, mostReasons);
  const { data } = useRead(
    `reasons ${failed.map(({ id }) => id).join()}`,
    async (signal) =>
      new Map(await Promise.all(failed.map(async ({ id }) => [id, await reasonOf(id, signal)] as const))),
    () => false,
  );
  return data ?? new Map();
}

/** Deployments as a table; without the projects, those of one project. */
export function DeploymentRows(given: { of: readonly DeploymentItem[]; projects?: ReadonlyMap<string, Project> }) {
  const { of, projects } = given;
  const sources = useSources(of.map(({ id }) => id));
  const standing = useStanding(of, projects ? undefined : of[0]?.project_id);
  const reasons = useReasons(of);
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
              {reasons.get(id) && <Text of={(reasons.get(id) ?? "").slice(0, 300)} class="why bad" />}
            </a>
          );
        },
        State: (one) => <Status of={one.status} word={standing(one)} />,
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
