import { lifecycle } from "../../../features/deployments/states.ts";
import { Field, Select } from "../controls.tsx";
import { Deploy } from "../forms/deploy.tsx";
import { useCall } from "../live.ts";
import { href, place, setQuery } from "../router.ts";
import { DeploymentRows, useProjects } from "../tables.tsx";
import { Empty, Loading, Page } from "../ui.tsx";
import { Pages } from "./projects.tsx";

const isState = (text: string | null): text is (typeof lifecycle.states)[number] =>
  lifecycle.states.some((state) => state === text);

export function DeploymentsPage() {
  const { query } = place.value;
  const projects = useProjects();
  const [project, environment, cursor] = ["project", "environment", "cursor"].map((name) => query.get(name) ?? "");
  const status = query.get("status");
  const filter = {
    ...(project && { project_id: project }),
    ...(environment && { environment }),
    ...(isState(status) && { status }),
  };
  const { data, error } = useCall(
    "deployments.list",
    { per_page: 50, ...filter, ...(cursor && { cursor }) },
    "deployment project.",
  );
  const change = (name: string) => (value: string) => setQuery({ [name]: value, cursor: "" });
  return (
    <Page title="Deployments" actions={<Deploy label="New deployment" projects={[...projects.values()]} />}>
      <search class="filters">
        <Select
          label="State"
          value={status ?? ""}
          options={[
            ["", "All states"],
            ...lifecycle.states.map((one): [string, string] => [one, one.replace("_", " ")]),
          ]}
          onChange={change("status")}
        />
        <Select
          label="Project"
          value={project ?? ""}
          options={[
            ["", "All projects"],
            ...[...projects.values()].map(({ id, name }): [string, string] => [id, name]),
          ]}
          onChange={change("project")}
        />
        <Field
          label="Environment"
          placeholder="its whole name"
          list={[...new Set(data?.data.map((one) => one.environment))]}
          value={environment ?? ""}
          onInput={change("environment")}
        />
      </search>
      {data && (data.data.length > 0 || Object.keys(filter).length === 0) ? (
        <DeploymentRows of={data.data} projects={projects} />
      ) : data ? (
        <Empty>
          No deployment matches these filters. <a href={href("/deployments")}>Clear them</a>
        </Empty>
      ) : (
        <Loading error={error} />
      )}
      <Pages next={data?.meta.next_cursor ?? null} />
    </Page>
  );
}
