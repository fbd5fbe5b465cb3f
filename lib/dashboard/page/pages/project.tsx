import type { DeploymentItem, Environment, Project } from "../../../client/generated/records.ts";
import { api } from "../api.ts";
import { Action, Field } from "../controls.tsx";
import { Restarts } from "../crashes.tsx";
import { countOf } from "../format-time.ts";
import { Deploy, Redeploy, RollBack } from "../forms/deploy.tsx";
import { DeployFolder } from "../forms/deploy-folder.tsx";
import { Form } from "../forms/form.tsx";
import { useRead } from "../live.ts";
import { Ref } from "../parts.tsx";
import { refusal } from "../permissions.ts";
import { PreviewNote } from "../preview-note.tsx";
import { go, href } from "../router.ts";
import { DeploymentRows } from "../tables.tsx";
import { Empty, Link, loadingPage, Page, Section, Status, Text, Time } from "../ui.tsx";
import { NewVariable, Variables } from "../variables.tsx";
import { Address, Live, pathOf } from "./environment.tsx";

/** So many previews are shown at once. */
const mostOpen = 5;

export function ProjectPage({ id }: { id: string }) {
  const { data, error } = useRead(
    `project ${id}`,
    async (signal) => {
      const [project, environments, latest] = await Promise.all([
        api.projects.get({ id }, { signal }),
        api.environments.list({ id }, { signal }),
        api.deployments.list({ project_id: id, per_page: 10 }, { signal }),
      ]);
      const live = await Promise.all(
        environments.data.map(({ name }) =>
          api.deployments.list({ project_id: id, environment: name, status: "active", per_page: 1 }, { signal }),
        ),
      );
      return {
        project,
        environments: environments.data,
        latest: latest.data,
        live: live.map(({ data: [one] }) => one),
      };
    },
    (change) => change.kind === "deployment" || change.id === id || change.event === "project.deleted",
  );
  if (!data) return loadingPage("Project", error);
  const { project, environments, latest, live } = data;
  const part = (one: Environment) => (
    <EnvironmentPart
      key={one.name}
      project_id={id}
      of={one}
      live={live[environments.indexOf(one)]}
      latest={latest.find(({ environment }) => environment === one.name)}
    />
  );
  const rank = ({ name }: Environment) => Number(name !== "production");
  const stable = environments.filter(({ preview }) => !preview).sort((a, b) => rank(a) - rank(b));
  const previews = environments.filter(({ preview }) => preview);
  const actions = (
    <>
      <Actions of={project} />
      <DeployFolder of={project} />
      <Deploy of={project} />
    </>
  );
  return (
    <Page title={project.name} actions={actions}>
      <p class="facts">
        <Status of={project.status} />
        <Ref of={project.id} />
        <span>{project.region}</span>
        <Time at={project.created_at} />
      </p>
      {project.description && (
        <p>
          <Text of={project.description} />
        </p>
      )}
      <Section title="Environments" actions={<NewEnvironment project_id={id} />}>
        {environments.length === 0 && <Empty>No environment yet. A deployment creates the one that it names.</Empty>}
        {stable.map(part)}
        {previews.length > 0 && (
          <details open={previews.length <= mostOpen}>
            <summary>{countOf(previews.length, "preview")}</summary>
            <div class="stack">{previews.map(part)}</div>
          </details>
        )}
      </Section>
      <Section
        title="Latest deployments"
        actions={<a href={href(`/deployments?project=${id}`)}>All of this project</a>}
      >
        <DeploymentRows of={latest} />
      </Section>
    </Page>
  );
}

function EnvironmentPart({
  project_id,
  of,
  live,
  latest,
}: {
  project_id: string;
  of: Environment;
  live: DeploymentItem | undefined;
  latest: DeploymentItem | undefined;
}) {
  return (
    <article class="environment">
      <div class="section-head">
        <h3>
          <Link to={pathOf(project_id, of.name)} of={of.name} />
        </h3>
        {latest && latest.id !== live?.id && (
          <a class="row latest" href={href(`/deployments/${latest.id}`)}>
            <Status of={latest.status} /> <Time at={latest.created_at} />
          </a>
        )}
        <span class="row">
          <PreviewNote project_id={project_id} of={of} />
          <Address of={of} />
          <Restarts of={of} />
          <Live of={live} />
          {live && <Redeploy of={live} />}
          {live && <RollBack of={live} />}
          <NewVariable project_id={project_id} of={of} />
        </span>
      </div>
      {Object.keys(of.variables).length > 0 && <Variables project_id={project_id} of={of} />}
    </article>
  );
}

/** A form that creates an environment before its first deployment, so that variables can be set. */
const NewEnvironment = ({ project_id }: { project_id: string }) => (
  <Form
    label="New environment"
    submit="Create"
    reason={refusal("deployments:write")}
    start={{ name: "" }}
    run={async (values) => {
      const name = values.name.trim();
      await api.environments.put({ id: project_id, name, variables: {} });
      go(pathOf(project_id, name));
    }}
  >
    <Field label="Environment" name="name" hint="Letters, digits, dot, underscore and hyphen" required />
  </Form>
);

function Actions({ of }: { of: Project }) {
  const { id } = of;
  const reason = refusal("projects:write");
  const isArchived = of.status === "archived";
  return (
    <>
      <Form
        label="Edit"
        submit="Save"
        reason={reason}
        start={{ name: of.name, description: of.description ?? "" }}
        run={(values) => api.projects.update({ id, ...values })}
      >
        <Field label="Name" hint="3 to 64 characters" required />
        <Field label="Description" />
      </Form>
      <Action reason={reason} run={() => (isArchived ? api.projects.unarchive({ id }) : api.projects.archive({ id }))}>
        {isArchived ? "Restore" : "Archive"}
      </Action>
      <DeleteProject of={of} reason={reason} />
    </>
  );
}

/** Asks for the project's name, because a deletion cannot be undone. */
const DeleteProject = ({ of, reason }: { of: Project; reason: string | undefined }) => (
  <Form
    label="Delete"
    title={`Delete ${of.name}?`}
    kind="danger"
    reason={reason}
    start={{ name: "" }}
    run={async ({ name }) => {
      if (name.trim() !== of.name) throw new Error("This is not the name of the project.");
      await api.projects.delete({ id: of.id });
      go("/projects");
    }}
  >
    <p>
      <Text of={of.name} /> is deleted for good, with its deployments, logs, environments and variables, and what it
      runs stops. Archive it instead to keep its records.
    </p>
    <Field label="Name of the project" name="name" required />
  </Form>
);
