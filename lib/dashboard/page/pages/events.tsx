import type { EventRecord, Project } from "../../../client/generated/records.ts";
import { catalog, type EventName } from "../../../features/events/catalog.ts";
import { Select } from "../controls.tsx";
import { useCall } from "../live.ts";
import { Block, Ref } from "../parts.tsx";
import { requestsOf } from "../recent-requests.ts";
import { subjectOf } from "../request-effects.tsx";
import { href, place, setQuery } from "../router.ts";
import { useProjects } from "../tables.tsx";
import { Empty, Loading, Page, Text, Time } from "../ui.tsx";
import { Pages } from "./projects.tsx";

const names = Object.keys(catalog) as EventName[];

export function EventsPage() {
  const { query } = place.value;
  const projects = useProjects();
  const cursor = query.get("cursor") ?? "";
  const name = names.find((one) => one === query.get("event"));
  const { data, error } = useCall(
    "events.list",
    { per_page: 50, ...(name && { event: name }), ...(cursor && { cursor }) },
    "event",
  );
  return (
    <Page title="Events">
      <search class="filters">
        <Select
          label="Event"
          value={name ?? ""}
          options={[["", "All events"], ...names.map((one): [string, string] => [one, one])]}
          onChange={(event) => setQuery({ event, cursor: "" })}
        />
      </search>
      {!data && <Loading error={error} />}
      {data?.data.length === 0 && (
        <Empty>
          {name ? `No event ${name} has happened yet.` : "Nothing has happened yet. Create a project, or deploy one."}
        </Empty>
      )}
      <div>
        {data?.data.map((one) => (
          <EventPart key={one.id} of={one} projects={projects} />
        ))}
      </div>
      <Pages next={data?.meta.next_cursor ?? null} />
    </Page>
  );
}

interface Props {
  readonly of: EventRecord;
  readonly projects: ReadonlyMap<string, Project>;
}

/** The subject of an event in a few words. */
function Subject({ of: { data }, projects }: Props) {
  const { name, email, project_id, environment, model } = data;
  const project = name ?? projects.get(String(project_id))?.name ?? project_id;
  const words = [email, project, environment, model].filter((word) => typeof word === "string");
  return <Text of={words.join(", ").slice(0, 300)} />;
}

function EventPart({ of, projects }: Props) {
  const { deployment_id, project_id } = of.data;
  const subject = subjectOf(of.data);
  return (
    <details class="happening">
      <summary>
        <span class="mono">{of.event}</span>
        <Subject of={of} projects={projects} />
        <Time at={of.timestamp} />
      </summary>
      <p class="facts">
        <Ref of={of.id} />
        {typeof deployment_id === "string" && <a href={href(`/deployments/${deployment_id}`)}>Deployment</a>}
        {typeof project_id === "string" && of.event !== "project.deleted" && (
          <a href={href(`/projects/${project_id}`)}>Project</a>
        )}
        {subject !== undefined && <a href={href(requestsOf(subject))}>Requests about it</a>}
      </p>
      <Block label="Data" of={JSON.stringify({ event: of.event, timestamp: of.timestamp, data: of.data }, null, 2)} />
    </details>
  );
}
