import { useState } from "preact/hooks";
import { readMetrics, session } from "../api.ts";
import { LineChart } from "../chart.tsx";
import { pageOf, workOf } from "../clock.ts";
import { Emulate } from "../emulate.tsx";
import { FirstSteps } from "../first-steps.tsx";
import { dollars, lengthOf } from "../format-time.ts";
import { Icon } from "../icon.tsx";
import { serviceNow, useCall, usePoll, useRead } from "../live.ts";
import { sourceOf } from "../media.ts";
import { useNames } from "../names.ts";
import { type GaveUp, lately, mostCounted, namesOf, type Overview, readOverview, troubleOf } from "../overview-data.ts";
import { href } from "../router.ts";
import { refOf, shortVersion, useSources } from "../sources.ts";
import { useProjects } from "../tables.tsx";
import { Empty, Link, loadingPage, Page, Section, Status, Text, Time } from "../ui.tsx";
import { promptOf } from "./generations.tsx";
import { NewProject } from "./projects.tsx";

/** Few, because each is loaded in its full size. */
const mostPictures = 3;
const kinds = ["deployment", "generation", "delivery", "record", "event", "instruments"];
/** The chart of requests is read again this often. */
const interval_ms = 15_000;

/** What runs, what needs somebody, what happened lately, and what is due next. */
export function OverviewPage() {
  const projects = useProjects();
  const [gaveUp] = useState<GaveUp>(() => new Map());
  const read = (signal: AbortSignal) => readOverview(signal, gaveUp);
  const { data, error } = useRead("overview", read, ({ kind }) => kinds.includes(kind));
  if (!data) return loadingPage("Overview", error);
  const nameOf = (id: string) => projects.get(id)?.name ?? id;
  const happened = lately(data, nameOf);
  const pictures = data.generations.filter(({ output }) => output?.type !== "video");
  const begun = {
    project_id: [...projects.keys()][0],
    hasDeployment: data.latest.length > 0,
    hasWebhook: data.receivers.length > 0,
  };
  return (
    <Page title="Overview" actions={<NewProject />}>
      <Figures of={data} />
      {session.value?.mode === "dev" && <Emulate />}
      <div class="story">
        <div class="stack">
          <Attention of={data} nameOf={nameOf} />
          <Section title="Latest deployments" actions={<a href={href("/deployments")}>All deployments</a>}>
            {data.latest.length === 0 ? (
              <Empty>
                Nothing has been deployed yet. Start on the <a href={href("/projects")}>projects</a> page.
              </Empty>
            ) : (
              <Deployments of={data.latest} nameOf={nameOf} />
            )}
          </Section>
        </div>
        <div class="stack">
          <DueNext of={data} nameOf={nameOf} />
          <Section title="Lately" actions={<a href={href("/events")}>All events</a>}>
            {happened.length === 0 && <p class="hint">Nothing has happened yet.</p>}
            <ol class="lately">
              {happened.map(({ at, icon, text, path, hue, more }) => (
                <li key={`${at} ${text} ${path}`}>
                  <span class={hue}>
                    <Icon of={icon} />
                  </span>
                  <span>
                    <Link to={path} of={text} />
                    {more && <span class="hint lead">{more}</span>}
                  </span>
                  <Time at={at} />
                </li>
              ))}
            </ol>
          </Section>
        </div>
        <div class="stack">
          {pictures.length > 0 && <Pictures of={pictures} />}
          <FirstSteps begun={begun} />
          <Load />
        </div>
      </div>
    </Page>
  );
}

function Figures({ of }: { of: Overview }) {
  const day = new Date(serviceNow()).toISOString().slice(0, 10);
  const { data: usage } = useCall("generations.usage", { from: day, to: day }, "generation");
  const failing = of.receivers.filter((one) => troubleOf(one) !== undefined).length;
  const queued = of.running.filter(({ status }) => status === "queued").length;
  const [first] = of.running;
  const runs = `/deployments${first ? `?status=${first.status}` : ""}`;
  const [lone, ...others] = of.failed;
  const failed = lone && others.length === 0 ? `/deployments/${lone.deployment.id}` : "/deployments?status=failed";
  const figures = [
    [
      "Running now",
      `${of.running.length - queued}${queued > 0 ? ` + ${queued}${queued < mostCounted ? "" : "+"} queued` : ""}`,
      runs,
      "",
    ],
    ["Environments that fail", String(of.failed.length), failed, of.failed.length > 0 ? "bad" : ""],
    ["Receivers that fail", `${failing} of ${of.receivers.length}`, "/webhooks", failing > 0 ? "bad" : ""],
    ["Cost of generations today", usage ? dollars(usage.total.cost_usd) : "…", "/usage", ""],
  ] as const;
  return (
    <dl class="figures">
      {figures.map(([name, value, path, hue]) => (
        <div key={name}>
          <dt>
            <a href={href(path)}>{name}</a>
          </dt>
          <dd class={hue}>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** The latest deployments in two lines each: the table would not fit beside what happened lately. */
function Deployments({ of, nameOf }: { of: Overview["latest"]; nameOf: (id: string) => string }) {
  const sources = useSources(of.map(({ id }) => id));
  const names = useNames();
  return (
    <ul class="cards">
      {of.map(({ id, status, project_id, environment, version, created_at, created_by }) => {
        const source = sources.get(id);
        return (
          <li key={id}>
            <Status of={status} />
            <Link to={`/deployments/${id}`} of={`${nameOf(project_id)} to ${environment}`} />
            <span class="hint">
              <Text of={source ? refOf(source) : shortVersion(version)} />
              {created_by && names.people.size > 0 && ` by ${names.person(created_by.user_id) || created_by.via}`}
            </span>
            <Time at={created_at} />
          </li>
        );
      })}
    </ul>
  );
}

/** What failed and why, and the receivers that fail. */
function Attention({ of, nameOf }: { of: Overview; nameOf: (id: string) => string }) {
  const troubles = of.receivers.flatMap((one) => {
    const trouble = troubleOf(one);
    return trouble === undefined ? [] : [{ ...one, trouble }];
  });
  if (of.failed.length + troubles.length === 0) return null;
  return (
    <Section title="Needs attention">
      <ul class="cards">
        {troubles.map(({ family, id, name, status, trouble }) => (
          <li key={id}>
            <Status of={status === "inactive" ? status : "failing"} />
            <Link to={`/${family}/${id}`} of={name} />
            <span class="hint">{trouble}</span>
          </li>
        ))}
        {of.failed.map(({ deployment, live, reason }) => (
          <li key={deployment.id}>
            <Status of={deployment.status} />
            <Link
              to={`/deployments/${deployment.id}`}
              of={`${nameOf(deployment.project_id)} to ${deployment.environment}`}
            />
            {live?.version && <span class="hint">{shortVersion(live.version)} stays live</span>}
            <Time at={deployment.completed_at ?? deployment.updated_at} />
            {reason && (
              <code>
                <Text of={reason.slice(0, 300)} />
              </code>
            )}
          </li>
        ))}
      </ul>
    </Section>
  );
}

const Pictures = ({ of: pictures }: { of: Overview["generations"] }) => (
  <Section title="Pictures" actions={<a href={href("/generations")}>All generations</a>}>
    <ul class="strip">
      {pictures.slice(0, mostPictures).map((one) => {
        const source = one.output?.type === "image" ? sourceOf(one) : undefined;
        return (
          <li key={one.id}>
            <a href={href(`/generations/${one.id}`)}>
              {source ? (
                <img class="media" src={source} alt="" loading="lazy" decoding="async" />
              ) : (
                <Status of={one.status} />
              )}
              <Text of={promptOf(one).slice(0, 300) || one.model} />
            </a>
          </li>
        );
      })}
    </ul>
  </Section>
);

function DueNext({ of, nameOf }: { of: Overview; nameOf: (id: string) => string }) {
  if (of.upcoming.length === 0) return null;
  const names = namesOf(of, nameOf);
  return (
    <Section title="Due next" actions={<a href={href("/timeline")}>Timeline</a>}>
      <ol class="lately">
        {of.upcoming.map(({ at, kind, id }) => {
          const page = pageOf(id);
          const wait = Date.parse(at) - serviceNow();
          const work = workOf({ at, kind, id });
          const name = names.get(id ?? "");
          return (
            <li key={`${at} ${kind} ${id}`}>
              <Icon of="next" />
              <span>
                {page ? <Link to={page} of={name ?? work} /> : work}
                {name && <span class="hint lead">{work}</span>}
              </span>
              <time dateTime={at}>{wait > 0 ? `in ${lengthOf(wait)}` : "now"}</time>
            </li>
          );
        })}
      </ol>
    </Section>
  );
}

/** The requests and errors of the last hour, for the roles that may know them. */
function Load() {
  const { data } = useRead("load", readMetrics, ({ kind }) => kind === "load");
  usePoll("load", interval_ms);
  if (!data || data.length < 2) return null;
  return (
    <LineChart
      title="Requests of the last hour"
      show={(value) => `${value.toFixed(value < 10 ? 1 : 0)}/s`}
      seconds={data[0]?.seconds_ago}
      lines={[
        { name: "answered", values: data.map((one) => one.requests_per_s) },
        { name: "failed (5xx)", values: data.map((one) => one.failures_per_s), hue: "bad" },
      ]}
    />
  );
}
