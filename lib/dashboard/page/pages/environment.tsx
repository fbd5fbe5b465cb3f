import type { DeploymentItem, Environment, Project } from "../../../client/generated/records.ts";
import { api } from "../api.ts";
import { Action, Field, FormDialog } from "../controls.tsx";
import { Crashes, Restarts } from "../crashes.tsx";
import { Redeploy, RollBack } from "../forms/deploy.tsx";
import { Form, listOf } from "../forms/form.tsx";
import { useRead } from "../live.ts";
import { Ref } from "../parts.tsx";
import { refusal } from "../permissions.ts";
import { PreviewNote } from "../preview-note.tsx";
import { go, href } from "../router.ts";
import { Empty, Link, loadingPage, Page, Section, Text, Time } from "../ui.tsx";
import { NewVariable, Variables } from "../variables.tsx";
import { Beside } from "./environment-runs.tsx";
import { LogView, useLog } from "./log.tsx";

/** The path of an environment's page. */
export const pathOf = (project_id: string, name: string): string =>
  `/projects/${project_id}/${encodeURIComponent(name)}`;

export function EnvironmentPage({ project_id, name }: { project_id: string; name: string }) {
  const { data, error } = useRead(
    `environment ${project_id} ${name}`,
    async (signal) => {
      const [project, environments, live] = await Promise.all([
        api.projects.get({ id: project_id }, { signal }),
        api.environments.list({ id: project_id }, { signal }),
        api.deployments.list({ project_id, environment: name, status: "active", per_page: 1 }, { signal }),
      ]);
      return { project, environment: environments.data.find((one) => one.name === name), live: live.data[0] };
    },
    ({ kind, id }) => kind === "deployment" || id === project_id,
  );
  if (!data) return loadingPage("Environment", error);
  const { project, environment, live } = data;
  if (!environment) {
    return (
      <Page title={name}>
        <Empty>
          The project has no environment with this name. A deployment creates the one that it names:{" "}
          <a href={href(`/projects/${project_id}`)}>to the project</a>.
        </Empty>
      </Page>
    );
  }
  return (
    <Page
      title={`${project.name}: ${environment.name}`}
      actions={<Actions project={project} of={environment} live={live} />}
    >
      <p class="facts">
        <Link to={`/projects/${project_id}`} of={project.name} />
        <Live of={live} />
        <Address of={environment} />
        <PreviewNote project_id={project_id} of={environment} />
        <Restarts of={environment} />
      </p>
      <Crashes project_id={project_id} of={environment} />
      <Domains project_id={project_id} of={environment} />
      <Beside project_id={project_id} of={environment} />
      <Section title="Variables" actions={<NewVariable project_id={project_id} of={environment} />}>
        <Variables project_id={project_id} of={environment} />
      </Section>
      <Section title="Log">
        <EnvironmentLog project_id={project_id} name={name} />
      </Section>
    </Page>
  );
}

function EnvironmentLog({ project_id, name }: { project_id: string; name: string }) {
  const path = pathOf(project_id, name);
  const log = useLog({
    id: `${project_id} ${name}`,
    path,
    read: (at, signal) => api.environments.logs({ id: project_id, name, ...at }, { signal }),
  });
  const empty = "Nothing has been printed yet. Where deployments are simulated, nothing runs.";
  return <LogView of={log} path={path} name={name} empty={empty} />;
}

/** The live release of an environment. */
export const Live = ({ of }: { of: DeploymentItem | undefined }) =>
  of ? (
    <span class="row">
      <a href={href(`/deployments/${of.id}`)}>
        Live: <span class="mono">{of.version?.slice(0, 12) ?? of.id.slice(-8)}</span>
      </a>
      <Time at={of.deployed_at ?? of.updated_at} />
    </span>
  ) : (
    <span class="hint">Nothing is live.</span>
  );

/** The URL of the app. It is another origin and gets no referrer from this page. */
export const Address = ({ of: { url } }: { of: Environment }) =>
  url && /^https?:/.test(url) ? <Ref of={url} to={url} /> : null;

function Actions({ project, of, live }: { project: Project; of: Environment; live: DeploymentItem | undefined }) {
  const reason = refusal("deployments:write");
  const key = { id: project.id, name: of.name };
  // Without a runtime an environment has no URL, and no app runs.
  const idle =
    of.url === undefined
      ? "Deployments are simulated here, so nothing runs."
      : live
        ? undefined
        : "Nothing is live; deploy first.";
  return (
    <>
      <Action reason={reason ?? idle} run={() => api.environments.restart(key)}>
        Restart
      </Action>
      {live && <Redeploy of={live} />}
      {live && <RollBack of={live} />}
      <FormDialog
        label="Delete environment"
        title={`Delete ${of.name}?`}
        kind="danger"
        submit="Delete"
        reason={reason}
        run={async () => {
          await api.environments.delete(key);
          go(`/projects/${project.id}`);
        }}
      >
        <p>
          <Text of={of.name} /> is deleted with its variables and domains, and what it runs stops immediately. Its
          deployments stay readable.
        </p>
      </FormDialog>
    </>
  );
}

interface Part {
  readonly project_id: string;
  readonly of: Environment;
}

function Domains({ project_id, of }: Part) {
  const domains = of.domains ?? [];
  const edit = (
    <Form
      label="Edit domains"
      submit="Save"
      reason={refusal("deployments:write")}
      start={{ domains: domains.join("\n") }}
      run={(values) => api.environments.put({ id: project_id, name: of.name, domains: listOf(values.domains) })}
    >
      <Field label="Host names" name="domains" hint="Separated by commas: www.example.com" />
    </Form>
  );
  return (
    <Section title="Domains" actions={edit}>
      {domains.length === 0 ? (
        <p class="hint">No custom domain.</p>
      ) : (
        <ul class="plain mono">
          {domains.map((one) => (
            <li key={one}>
              <Ref of={one} to={`https://${one}`} />
              <DomainProof of={of.domain_status?.find(({ name }) => name === one)} />
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

/** The DNS record that a domain still needs; empty once the domain serves. */
function DomainProof({ of }: { of: NonNullable<Environment["domain_status"]>[number] | undefined }) {
  if (of?.status !== "pending") return null;
  return (
    <div class="hint">
      Waiting for the TXT record <Text of={of.record} /> with the value <Text of={of.token} />
    </div>
  );
}
