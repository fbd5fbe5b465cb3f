import type { Deployment, LogEntry } from "../../../client/generated/records.ts";
import { api } from "../api.ts";
import { instantOf, lengthOf, secondOf } from "../format-time.ts";
import { Cancel, isUnfinished, RollBack } from "../forms/deploy.tsx";
import { useRead } from "../live.ts";
import { href } from "../router.ts";
import { Step } from "../step.tsx";
import { loadingPage, Page, Section, Status, Text, Time } from "../ui.tsx";
import { LogPart } from "./log.tsx";
import { deploymentLog } from "./log-pages.ts";

export function DeploymentPage({ id }: { readonly id: string }) {
  const { data, error } = useRead(
    `deployment ${id}`,
    async (signal) => {
      const deployment = await api.deployments.get({ id }, { signal });
      const project = await api.projects.get({ id: deployment.project_id }, { signal });
      return { deployment, project };
    },
    (change) => change.kind === "deployment" && change.id === id,
  );
  if (!data) return loadingPage("Deployment", error);
  const { deployment, project } = data;
  const actions = (
    <>
      {isUnfinished(deployment) && <Step family="deployments" of={deployment} />}
      <Cancel of={deployment} />
      <RollBack of={deployment} />
    </>
  );
  return (
    <Page title={`${project.name} to ${deployment.environment}`} actions={actions}>
      <p class="facts">
        <Status of={deployment.status} />
        <span class="mono">{deployment.id}</span>
        <a href={href(`/projects/${project.id}`)}>
          <Text of={project.name} />
        </a>
        <Time at={deployment.created_at} />
      </p>
      <States of={deployment} />
      <dl class="details">
        <dt>Source</dt>
        <dd>
          <SourceText of={deployment.source} />
        </dd>
        <dt>Version</dt>
        <dd class="mono">{deployment.version ?? (deployment.completed_at === null ? "none yet" : "none")}</dd>
        <dt>Created</dt>
        <dd>{instantOf(deployment.created_at)} UTC</dd>
        {deployment.completed_at !== null && (
          <>
            <dt>Ended</dt>
            <dd>
              {instantOf(deployment.completed_at)} UTC, after{" "}
              {lengthOf(Date.parse(deployment.completed_at) - Date.parse(deployment.created_at))}
            </dd>
          </>
        )}
      </dl>
      <Section title="Log">
        <LogPart
          of={deploymentLog(id)}
          empty={deployment.completed_at === null ? "No line has been written yet." : "The log is empty."}
          above={(entries) => <Reason status={deployment.status} of={entries} />}
        />
      </Section>
    </Page>
  );
}

const nextSteps: Readonly<Record<string, string>> = {
  failed: "What ran before keeps running. Fix this, then deploy again.",
  rolled_back: "The previous release stays live. Fix this, then deploy again.",
};

/** Why a deployment failed: the last error other than "Deployment failed" itself. */
function Reason({ status, of }: { readonly status: string; readonly of: readonly LogEntry[] }) {
  const next = nextSteps[status];
  const errors = of.filter(({ level, message }) => level === "error" && message !== "Deployment failed");
  const reason = errors.at(-1)?.message;
  if (next === undefined || reason === undefined) return null;
  return (
    <div class="reason">
      <p class="problem">
        <Text of={reason.slice(0, 2000)} />
      </p>
      <p class="hint">{next}</p>
    </div>
  );
}

function SourceText({ of }: { readonly of: Deployment["source"] }) {
  if (of.type === "image") return <Text of={of.image_url ?? ""} />;
  return (
    <>
      <Text of={of.repo ?? ""} />
      {of.tag !== null && (
        <>
          {" "}
          tag <Text of={of.tag} />
        </>
      )}
      {of.tag === null && of.branch !== null && (
        <>
          {" "}
          branch <Text of={of.branch} />
        </>
      )}
    </>
  );
}

const way: readonly string[] = ["queued", "building", "deploying"];

/** The states of a deployment, past ones solid and future ones dashed, with the known times. */
function States({ of }: { readonly of: Deployment }) {
  const at = way.indexOf(of.status);
  const isOver = at === -1;
  // The record does not say in which state a deployment was cancelled or failed, so only its end is certain.
  const passed = of.status === "active" || of.status === "rolled_back" ? way.length : of.status === "failed" ? 2 : 1;
  const end = isOver ? of.status : "active";
  return (
    <ol class="states" aria-label="States">
      {way.slice(0, isOver ? passed : way.length).map((state, i) => {
        const mark = isOver || i < at ? "past" : i === at ? "now" : "coming";
        return (
          <li key={state} class={mark} aria-current={mark === "now" ? "step" : undefined}>
            <Status of={state} />
            <small>
              {i === 0 ? secondOf(of.created_at) : mark === "now" ? `since ${secondOf(of.updated_at)}` : ""}
            </small>
          </li>
        );
      })}
      <li class={isOver ? "past outcome" : "coming outcome"}>
        <Status of={end} />
        <small>{of.completed_at === null ? "" : secondOf(of.completed_at)}</small>
      </li>
    </ol>
  );
}
