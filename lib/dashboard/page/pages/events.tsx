import { useState } from "preact/hooks";
import type { EventRecord } from "../../../client/generated/records.ts";
import { catalog, type EventName } from "../../../features/events/catalog.ts";
import { Select } from "../controls.tsx";
import { instantOf } from "../format-time.ts";
import { useCall } from "../live.ts";
import { Block, Ref } from "../parts.tsx";
import { requestsOf } from "../recent-requests.ts";
import { aboutOf, Received, subjectOf } from "../request-effects.tsx";
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
  const { data: generations } = useCall("generations.list", { per_page: 100 }, "generation");
  const prompts = new Map(generations?.data.map(({ id, input }) => [id, input["prompt"]]));
  const nameOf = (id: string) => {
    const prompt = prompts.get(id);
    return projects.get(id)?.name ?? (typeof prompt === "string" ? prompt : undefined);
  };
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
          <EventPart key={one.id} of={one} all={data.data} nameOf={nameOf} />
        ))}
      </div>
      <Pages next={data?.meta.next_cursor ?? null} />
    </Page>
  );
}

interface Props {
  readonly of: EventRecord;
  readonly all: readonly EventRecord[];
  readonly nameOf: (id: string) => string | undefined;
}

function EventPart({ of, all, nameOf }: Props) {
  const [isOpen, setOpen] = useState(false);
  const { deployment_id, project_id } = of.data;
  const subject = subjectOf(of.data);
  return (
    <details class="happening" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <span class="mono">{of.event}</span>
        <Text of={aboutOf(of.data, nameOf)} />
        <span>
          <span class="hint">{instantOf(of.timestamp).slice(5)}</span> <Time at={of.timestamp} />
        </span>
      </summary>
      <p class="facts">
        <Ref of={of.id} />
        {typeof deployment_id === "string" && <a href={href(`/deployments/${deployment_id}`)}>Deployment</a>}
        {typeof project_id === "string" && of.event !== "project.deleted" && (
          <a href={href(`/projects/${project_id}`)}>Project</a>
        )}
        {subject !== undefined && <a href={href(requestsOf(subject))}>Requests about it</a>}
      </p>
      {isOpen && (
        <div>
          <Received of={of} all={all} />
        </div>
      )}
      <Block label="Data" of={JSON.stringify({ event: of.event, timestamp: of.timestamp, data: of.data }, null, 2)} />
    </details>
  );
}
