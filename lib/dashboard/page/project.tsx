import { useState } from "preact/hooks";
import type { DeploymentItem, Environment } from "../../client/records.ts";
import { api } from "./api.ts";
import { Action, Field, FormDialog, Select } from "./controls.tsx";
import { Deploy, RollBack } from "./deploy.tsx";
import { useRead } from "./live.ts";
import { refusal } from "./may.ts";
import { href } from "./router.ts";
import { DeploymentRows } from "./tables.tsx";
import { Empty, Loading, Page, Section, Status, Text, Time } from "./ui.tsx";

export function ProjectPage({ id }: { readonly id: string }) {
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
    ({ kind }) => kind === "deployment" || kind === "event",
  );
  if (!data) {
    return (
      <Page title="Project">
        <Loading error={error} />
      </Page>
    );
  }
  const { project, environments, latest, live } = data;
  const isArchived = project.status === "archived";
  const mayChange = refusal("projects:write");
  const actions = (
    <>
      {isArchived ? (
        <Action reason={mayChange} run={() => api.projects.unarchive({ id })}>
          Restore
        </Action>
      ) : (
        <Action reason={mayChange} run={() => api.projects.archive({ id })}>
          Archive
        </Action>
      )}
      <Deploy project_id={id} environments={environments.map(({ name }) => name)} isArchived={isArchived} />
    </>
  );
  return (
    <Page title={project.name} actions={actions}>
      <p class="facts">
        <Status of={project.status} />
        <span class="mono">{project.id}</span>
        <span>{project.region}</span>
        <Time at={project.created_at} />
      </p>
      {project.description && (
        <p>
          <Text of={project.description} />
        </p>
      )}
      <Section title="Environments">
        {environments.length === 0 && <Empty>No environment yet. A deployment makes the one that it names.</Empty>}
        {environments.map((one, i) => (
          <EnvironmentPart key={one.name} project_id={id} of={one} live={live[i]} />
        ))}
      </Section>
      <Section
        title="Latest deployments"
        actions={<a href={href(`/deployments?project=${id}`)}>All of this project</a>}
      >
        {latest.length === 0 ? (
          <Empty>Nothing was deployed yet.</Empty>
        ) : (
          <DeploymentRows of={latest} projects={new Map([[project.id, project]])} />
        )}
      </Section>
    </Page>
  );
}

function EnvironmentPart({
  project_id,
  of,
  live,
}: {
  readonly project_id: string;
  readonly of: Environment;
  readonly live: DeploymentItem | undefined;
}) {
  const variables = Object.entries(of.variables);
  const reason = refusal("deployments:write");
  const put = (changed: Environment["variables"]) =>
    api.environments.put({ id: project_id, name: of.name, variables: changed });
  return (
    <article class="environment">
      <div class="section-head">
        <h3>
          <Text of={of.name} />
        </h3>
        {live ? (
          <span class="row">
            <a href={href(`/deployments/${live.id}`)}>
              Live: <span class="mono">{live.version?.slice(0, 12) ?? live.id.slice(-8)}</span>
            </a>
            <Time at={live.deployed_at ?? live.updated_at} />
            <RollBack of={live} />
          </span>
        ) : (
          <span class="hint">Nothing is live.</span>
        )}
      </div>
      <table class="rows variables">
        <caption class="unseen">Variables of {of.name}</caption>
        <tbody>
          {variables.map(([name, value]) => (
            <tr key={name}>
              <th scope="row" class="mono">
                {name}
              </th>
              <td class="mono">{typeof value === "string" ? <Text of={value} /> : <em>secret</em>}</td>
              <td class="end">
                <Action
                  kind="quiet"
                  reason={reason}
                  run={() => put(Object.fromEntries(variables.filter(([one]) => one !== name)))}
                >
                  Remove
                </Action>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <SetVariable reason={reason} set={(name, value) => put({ ...of.variables, [name]: value as string })} />
    </article>
  );
}

function SetVariable({
  reason,
  set,
}: {
  readonly reason: string | undefined;
  readonly set: (
    name: string,
    value: string | { readonly value: string; readonly secret: boolean },
  ) => Promise<unknown>;
}) {
  const [name, setName] = useState("");
  const [value, setValue] = useState("");
  const [kind, setKind] = useState("plain");
  const run = async () => {
    await set(name.trim(), kind === "secret" ? { value, secret: true } : value);
    setName("");
    setValue("");
  };
  return (
    <FormDialog label="Set a variable" submit="Save" reason={reason} run={run}>
      <Field label="Variable" value={name} onInput={setName} hint="The next deployment uses it." required />
      <Field label="Value" value={value} onInput={setValue} />
      <Select
        label="Kind"
        value={kind}
        options={[
          ["plain", "Plain: everybody may read it"],
          ["secret", "Secret: nobody reads it again"],
        ]}
        onChange={setKind}
      />
    </FormDialog>
  );
}
