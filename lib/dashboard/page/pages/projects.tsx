import { api } from "../api.ts";
import { Button, Field } from "../controls.tsx";
import { Form } from "../forms/form.tsx";
import { useCall } from "../live.ts";
import { Records } from "../parts.tsx";
import { refusal } from "../permissions.ts";
import { go, place, setQuery } from "../router.ts";
import { Link, Page, Status, Text, Time } from "../ui.tsx";

export const NewProject = () => (
  <Form
    label="New project"
    kind="main"
    submit="Create"
    reason={refusal("projects:write")}
    start={{ name: "", region: "eu-west-1", description: "" }}
    run={async ({ name, region, description }) => {
      const made = await api.projects.create({ name, region: region.trim(), ...(description && { description }) });
      go(`/projects/${made.id}`);
    }}
  >
    <Field label="Name" hint="3 to 64 characters" required />
    <Region />
    <Field label="Description" />
  </Form>
);

/** Suggests the regions of other projects. */
function Region() {
  const { data } = useCall("projects.list", { per_page: 100 }, "project.");
  const regions = [...new Set(data?.data.map(({ region }) => region))];
  return <Field label="Region" list={regions} hint="Any name that you use. It cannot be changed later." required />;
}

export function ProjectsPage() {
  const cursor = place.value.query.get("cursor") ?? "";
  const { data, error } = useCall("projects.list", { per_page: 50, ...(cursor && { cursor }) }, "record project.");
  const { data: latest } = useCall("deployments.list", { per_page: 100 }, "deployment");
  return (
    <Page title="Projects" actions={<NewProject />}>
      <Records
        of={data?.data}
        error={error}
        empty="No project yet. A project holds environments, their variables and deployments."
        columns={{
          Name: ({ id, name, status }) => (
            <>
              <Link to={`/projects/${id}`} of={name} class="lead strong" />
              {status === "archived" && <Status of={status} />}
            </>
          ),
          "Latest deployment": ({ id }) => {
            const one = latest?.data.find(({ project_id }) => project_id === id);
            return (
              one && (
                <span class="row">
                  <Status of={one.status} />
                  <Link to={`/deployments/${one.id}`} of={one.environment} />
                  <Time at={one.created_at} />
                </span>
              )
            );
          },
          Region: ({ region }) => <span class="mono nowrap">{region}</span>,
          Description: ({ description }) => description && <Text of={description} />,
          Created: ({ created_at }) => <Time at={created_at} />,
        }}
      />
      <Pages next={data?.meta.next_cursor ?? null} />
    </Page>
  );
}

/** The buttons to page through a long list. The URL holds the position in the parameter `name`. */
export function Pages({ next, name = "cursor" }: { next: string | null; name?: string }) {
  const isFirst = !place.value.query.has(name);
  if (isFirst && next === null) return null;
  // The buttons go while the next page loads. Keyboard and screen reader continue at its top.
  const turn = (to: string) => {
    setQuery({ [name]: to }, "page");
    scrollTo(0, 0);
    document.querySelector<HTMLElement>("main h1")?.focus();
  };
  return (
    <div class="row end">
      {!isFirst && <Button onClick={() => turn("")}>Newest</Button>}
      {next !== null && <Button onClick={() => turn(next)}>Older</Button>}
    </div>
  );
}
