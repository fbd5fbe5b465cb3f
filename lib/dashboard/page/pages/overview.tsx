import { api } from "../api.ts";
import { isUnfinished } from "../forms/deploy.tsx";
import { serviceNow, useRead } from "../live.ts";
import { href } from "../router.ts";
import { DeploymentRows, useProjects } from "../tables.tsx";
import { Empty, loadingPage, Page, Section, Status, Text } from "../ui.tsx";

const states = ["queued", "building", "deploying", "failed"] as const;

/** From this many deployments on, the first steps are hidden. */
const mostOfBeginners = 5;

export function OverviewPage() {
  const projects = useProjects();
  const { data, error } = useRead(
    "overview",
    async (signal) => {
      const [webhooks, ...lists] = await Promise.all([
        api.webhooks.list({}, { signal }),
        ...states.map((status) => api.deployments.list({ status, per_page: 20 }, { signal })),
        api.deployments.list({ per_page: 5 }, { signal }),
      ]);
      const off = webhooks.data.filter(({ status }) => status === "inactive");
      const hasWebhook = webhooks.data.length > 0;
      return { off, hasWebhook, of: lists.slice(0, 4).flatMap((list) => list.data), latest: lists[4]?.data ?? [] };
    },
    ({ kind, event }) => kind === "deployment" || kind === "delivery" || kind === "record" || event !== undefined,
  );
  const day = new Date(serviceNow()).toISOString().slice(0, 10);
  const { data: usage } = useRead(
    `cost ${day}`,
    (signal) => api.generations.usage({ from: day, to: day }, { signal }),
    ({ kind }) => kind === "generation",
  );
  if (!data) return loadingPage("Overview", error);
  const running = data.of.filter(isUnfinished);
  const failed = data.of.filter(({ status }) => status === "failed").slice(0, 5);
  const steps = stepsOf(projects.size > 0, data.latest.length > 0, data.hasWebhook);
  if (data.latest.length === 0) {
    return (
      <Page title="Overview">
        <Empty>
          <p>
            Nothing has been deployed yet. Start on the <a href={href("/projects")}>projects</a> page, or run these
            three commands. Each gets a tick here once it has run:
          </p>
          <Steps of={steps} />
        </Empty>
      </Page>
    );
  }
  return (
    <Page title="Overview">
      <dl class="figures">
        <Figure name="Running now" value={String(running.length)} />
        <Figure name="Failed, newest 20" value={String(data.of.length - running.length)} />
        <Figure name="Webhooks turned off" value={String(data.off.length)} />
        <Figure name="Cost of generations today" value={usage ? `$${usage.total.cost_usd.toFixed(2)}` : "…"} />
      </dl>
      <Section title="Running now">
        {running.length === 0 ? (
          <Empty>Nothing is running.</Empty>
        ) : (
          <DeploymentRows of={running} projects={projects} />
        )}
      </Section>
      {failed.length > 0 && (
        <Section title="Failures">
          <DeploymentRows of={failed} projects={projects} />
        </Section>
      )}
      {data.off.length > 0 && (
        <Section title="Webhooks turned off">
          <ul class="plain">
            {data.off.map(({ id, url, status }) => (
              <li key={id} class="row">
                <Status of={status} />
                <a href={href(`/webhooks/${id}`)}>
                  <Text of={url} />
                </a>
              </li>
            ))}
          </ul>
        </Section>
      )}
      <Section title="Latest deployments">
        <DeploymentRows of={data.latest} projects={projects} />
      </Section>
      {data.latest.length < mostOfBeginners && steps.some(({ isDone }) => !isDone) && (
        <Section title="First steps">
          <Steps of={steps} />
        </Section>
      )}
    </Page>
  );
}

const Figure = ({ name, value }: { readonly name: string; readonly value: string }) => (
  <div>
    <dt>{name}</dt>
    <dd>{value}</dd>
  </div>
);

interface Step {
  readonly text: string;
  readonly isDone: boolean;
  readonly command: string;
}

/** The first steps. A step is ticked once it is done, no matter by which tool. */
function stepsOf(hasProject: boolean, hasDeployment: boolean, hasWebhook: boolean): readonly Step[] {
  const post = (path: string, body: object) =>
    `curl -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d '${JSON.stringify(body)}' ${location.origin}/v1/${path}`;
  const source = { type: "git", repo: "acme/web" };
  return [
    {
      text: "Create a project",
      isDone: hasProject,
      command: post("projects", { name: "web", region: "eu-west-1" }),
    },
    {
      text: "Deploy it",
      isDone: hasDeployment,
      command: post("deployments", { project_id: "proj_…", environment: "production", source }),
    },
    {
      text: "Get notified of events",
      isDone: hasWebhook,
      command: post("webhooks", { url: "https://hook.inbox.test/", events: ["*"] }),
    },
  ];
}

const Steps = ({ of }: { readonly of: readonly Step[] }) => (
  <ol class="steps">
    {of.map(({ text, isDone, command }) => (
      <li key={text} class={isDone ? "done" : undefined}>
        <strong>{text}</strong> {isDone && <Status of="succeeded" />}
        <pre>{command}</pre>
      </li>
    ))}
  </ol>
);
