import { useState } from "preact/hooks";
import type { Deployment, DeploymentItem, Project } from "../../../client/generated/records.ts";
import { api } from "../api.ts";
import { Action, Field, FormDialog, Select } from "../controls.tsx";
import { useRead } from "../live.ts";
import { refusal } from "../permissions.ts";
import { Release } from "../release.tsx";
import { go } from "../router.ts";
import { readSources, refOf } from "../sources.ts";
import { Loading, Text, Time } from "../ui.tsx";
import { Form, filled } from "./form.tsx";
import { endingAt, Outcome } from "./outcome.tsx";
import { environmentsOf, unique, useProjectSources, usual } from "./project-sources.ts";

/** People paste the URL of a repository; the API takes `owner/repo`. */
export const repoOf = (text: string): string =>
  text
    .trim()
    .replace(/^(https?:\/\/[^/]+\/|git@[^:]+:)/, "")
    .replace(/(\.git)?\/?$/, "");

const emptyForm = { project: "", environment: "", kind: "git", repo: "", branch: "", tag: "", image_url: "", at: "" };
type Values = typeof emptyForm;

/** The button and the form for a new deployment: of one project, or of the one that is chosen. */
export function Deploy({
  label = "Deploy",
  of,
  projects = [],
}: {
  label?: "Deploy" | "New deployment";
  of?: Project;
  projects?: readonly Project[];
}) {
  const open = projects.filter(({ status }) => status === "active");
  const run = async ({ project, environment, kind, repo, branch, tag, image_url, at }: Values) => {
    const source =
      kind === "image"
        ? { type: "image" as const, image_url: image_url.trim() }
        : { type: "git" as const, repo: repoOf(repo), ...filled({ branch: branch.trim(), tag: tag.trim() }) };
    const project_id = of?.id ?? project;
    const named = environment.trim() || usual(await environmentsOf(project_id));
    const made = await endingAt(at, () => api.deployments.create({ project_id, environment: named, source }));
    go(`/deployments/${made.id}`);
  };
  const none = of ? undefined : "Create a project first.";
  const reason =
    refusal("deployments:write") ??
    (of?.status === "archived" ? "The project is archived. Restore it first." : open.length === 0 ? none : undefined);
  const start = { ...emptyForm, project: open[0]?.id ?? "" };
  return (
    <Form label={label} submit="Deploy" kind="main" reason={reason} start={start} run={run}>
      {(values, set) => {
        const project_id = of?.id ?? values.project;
        return (
          <>
            {!of && (
              <Select
                label="Project"
                options={open.map(({ id, name }) => [id, name])}
                // What another project deploys is not offered for this one.
                onChange={(chosen) => set({ project: chosen, repo: "", image_url: "" })}
              />
            )}
            <Fields key={project_id} project_id={project_id} values={values} set={set} />
          </>
        );
      }}
    </Form>
  );
}

interface FieldsProps {
  readonly project_id: string;
  readonly values: Values;
  readonly set: (changes: Partial<Values>) => void;
}

/** The fields, with what the project deployed before as suggestions, and what is live in the chosen environment. */
function Fields({ project_id, values, set }: FieldsProps) {
  const data = useProjectSources(project_id);
  const sources = data?.latest.flatMap(({ id }) => data.sources.get(id) ?? []) ?? [];
  const [isFilled, setFilled] = useState(false);
  if (data && !isFilled) {
    setFilled(true);
    const [last] = sources;
    // Who is in the field already types its value.
    const isBusy = ["repo", "image_url"].includes(document.activeElement?.getAttribute("name") ?? "");
    if (!isBusy && values.repo === "" && values.image_url === "")
      set({ repo: last?.repo ?? "", image_url: last?.image_url ?? "" });
  }
  const environment = usual(data?.environments ?? []);
  const wanted = values.environment.trim() || environment;
  const live = data?.latest.find((one) => one.status === "active" && one.environment === wanted);
  const liveSource = live && data?.sources.get(live.id);
  return (
    <>
      <Field label="Environment" list={data?.environments ?? []} hint={`Leave empty for ${environment}.`} />
      {live && (
        <p class="hint">
          Now live: <Release of={liveSource} version={live.version} />,{" "}
          <Time at={live.deployed_at ?? live.updated_at} />
        </p>
      )}
      <Select
        label="Source"
        name="kind"
        options={[
          ["git", "Git repository"],
          ["image", "Container image"],
        ]}
      />
      {values.kind === "git" ? (
        <>
          <Field
            label="Repository"
            name="repo"
            list={unique(sources.map(({ repo }) => repo))}
            hint="owner/repo, or the repository's URL"
            required
          />
          <div class="pair">
            <Field
              label="Branch"
              list={unique(sources.map(({ branch }) => branch))}
              hint="Leave empty for the default branch."
            />
            <Field label="Tag" list={unique(sources.map(({ tag }) => tag))} hint="It wins over the branch." />
          </div>
        </>
      ) : (
        <Field
          label="Image"
          name="image_url"
          list={unique(sources.map(({ image_url }) => image_url))}
          hint="registry/name:tag, or with a digest"
          required
        />
      )}
      <Outcome />
    </>
  );
}

const unfinished = ["queued", "building", "deploying"];
export const isUnfinished = ({ status }: Pick<Deployment, "status">): boolean => unfinished.includes(status);

export function Cancel({ of }: { of: Pick<Deployment, "id" | "status"> }) {
  const isEarly = of.status === "queued" || of.status === "building";
  const late = isEarly
    ? undefined
    : `The deployment is ${of.status.replace("_", " ")}; only a queued or building one can be cancelled.`;
  return (
    <Action reason={refusal("deployments:write") ?? late} run={() => api.deployments.cancel({ id: of.id })}>
      Cancel deployment
    </Action>
  );
}

type Listed = Pick<DeploymentItem, "id" | "project_id" | "environment" | "status">;

/** Deploys the same source again: a branch may have moved on since. */
export function Redeploy({ of, isQuiet }: { of: Listed; isQuiet?: boolean }) {
  const { id, project_id, environment } = of;
  const run = async () => {
    const source = (await readSources([id])).get(id);
    if (!source) throw new Error("The deployment has gone.");
    const { type, repo, branch, tag, image_url } = source;
    const given =
      type === "image"
        ? { image_url: image_url ?? "" }
        : { repo: repo ?? "", ...filled({ ...(branch && { branch }), ...(tag && { tag }) }) };
    const made = await api.deployments.create({ project_id, environment, source: { type, ...given } as never });
    go(`/deployments/${made.id}`);
  };
  const kind = isQuiet ? ({ kind: "quiet" } as const) : of.status === "failed" ? ({ kind: "main" } as const) : {};
  return (
    <FormDialog label="Redeploy" {...kind} reason={refusal("deployments:write")} run={run}>
      <Again of={of} />
    </FormDialog>
  );
}

function Again({ of: { id, environment } }: { of: Listed }) {
  const { data, error } = useRead(
    `source ${id}`,
    async (signal) => (await readSources([id], signal)).get(id),
    () => false,
  );
  if (!data) return <Loading error={error} />;
  return (
    <p>
      <Text of={refOf(data)} class="strong" /> of <Text of={data.repo ?? data.image_url ?? ""} /> is deployed to{" "}
      <Text of={environment} /> again
      {data.type === "git" && data.tag === null && ", with its newest commit"}.
    </p>
  );
}

/** Asks first, and says which release comes back. Where the page knows that none can, it is disabled. */
export function RollBack({ of, isFirst }: { of: Listed; isFirst?: boolean }) {
  const run = async () => {
    const made = await api.deployments.rollback({ id: of.id });
    go(`/deployments/${made.id}`);
  };
  const first = isFirst ? "Nothing was live here before." : undefined;
  return (
    <FormDialog label="Roll back" kind="danger" reason={refusal("deployments:write") ?? first} run={run}>
      <Before of={of} />
    </FormDialog>
  );
}

function Before({ of: { id, project_id, environment } }: { of: Listed }) {
  const { data, error } = useRead(
    `before ${id}`,
    async (signal) => {
      const all = await api.deployments.list({ project_id, environment, per_page: 100 }, { signal });
      const before = all.data.find((one) => one.id < id && one.deployed_at !== undefined);
      return { before, source: before && (await readSources([before.id], signal)).get(before.id) };
    },
    ({ kind }) => kind === "deployment",
  );
  if (!data) return <Loading error={error} />;
  const { before, source } = data;
  if (!before) return <p>No earlier release of this environment is among its last hundred deployments.</p>;
  return (
    <p>
      <Release of={source} version={before.version} />, which went live{" "}
      <Time at={before.deployed_at ?? before.updated_at} />, comes back to <Text of={environment} />.
    </p>
  );
}
