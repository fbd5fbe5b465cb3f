import type { Deployment, DeploymentItem, LogEntry } from "../../../client/generated/records.ts";
import { api } from "../api.ts";
import { instantOf, lengthOf } from "../format-time.ts";
import { Cancel, isUnfinished, Redeploy, RollBack } from "../forms/deploy.tsx";
import { useRead } from "../live.ts";
import { useNames } from "../names.ts";
import { Facts, Ref } from "../parts.tsx";
import { requestsOf } from "../recent-requests.ts";
import { href } from "../router.ts";
import { Simulated } from "../simulated.tsx";
import { readSources, refOf, type Source, shortVersion } from "../sources.ts";
import { Standing, Step } from "../step.tsx";
import { Link, loadingPage, Page, Section, Status, Text, Time } from "../ui.tsx";
import { States } from "./deployment-states.tsx";
import { LogView, useLog } from "./log.tsx";
import { deploymentLog } from "./log-pages.ts";

export function DeploymentPage({ id }: { id: string }) {
  const names = useNames();
  const { data, error } = useRead(
    `deployment ${id}`,
    async (signal) => {
      const deployment = await api.deployments.get({ id }, { signal });
      const { project_id, environment } = deployment;
      const [project, live] = await Promise.all([
        api.projects.get({ id: project_id }, { signal }),
        api.deployments.list({ project_id, environment, status: "active", per_page: 50 }, { signal }),
      ]);
      // Of an ended deployment: what was live before it.
      const before = live.data.find((one) => deployment.completed_at === null || one.id < id);
      const sources = await readSources(before ? [id, before.id] : [id], signal);
      return { deployment, project, live: live.data[0], before, sources };
    },
    (change) => change.kind === "deployment",
  );
  const log = useLog(deploymentLog(id));
  if (!data) return loadingPage("Deployment", error);
  const { deployment, project, live, before, sources } = data;
  const { environment, created_by, created_at, completed_at, version } = deployment;
  const restores = sources.get(id)?.restores;
  const isOver = !isUnfinished(deployment);
  return (
    <Page
      title={`${project.name} to ${environment}`}
      actions={
        <>
          {!isOver && <Step family="deployments" of={deployment} />}
          {!isOver && <Cancel of={deployment} />}
          <Redeploy of={deployment} />
          {/* What never went live left the release before it in place. */}
          {(!isOver || deployment.status === "active") && <RollBack of={deployment} isFirst={before === undefined} />}
        </>
      }
    >
      <p class="facts">
        <Status of={deployment.status} />
        {deployment.status === "active" &&
          live &&
          (live.id === id ? (
            <span class="hint">live now</span>
          ) : (
            <a href={href(`/deployments/${live.id}`)}>replaced by {shortVersion(live.version) || "a newer one"}</a>
          ))}
        <Ref of={id} />
        <Link to={`/projects/${project.id}`} of={project.name} />
        <Time at={created_at} />
      </p>
      <Simulated log={log.data ?? []} />
      <States of={deployment} log={log.data ?? []} />
      {!isOver && <Standing family="deployments" of={deployment} />}
      <Reason
        of={deployment}
        log={log.data ?? []}
        live={live}
        before={before}
        isMade={sources.get(id)?.is_made_to_fail === true}
      />
      <Facts
        of={{
          Source: <SourceText of={deployment.source} />,
          ...(restores && {
            "Brings back": <a href={href(`/deployments/${restores}`)}>{`…${restores.slice(-8)}`}</a>,
          }),
          ...((version || !isOver) && { Version: version ? <Ref of={version} /> : "none yet" }),
          ...(created_by && {
            By: (
              <span>
                <Text of={names.person(created_by.user_id) || "nobody known"} />
                <span class="hint">
                  {" "}
                  · {wayOf[created_by.via]}
                  {created_by.key_id !== null && ` · key ${names.key(created_by.key_id)}`}
                </span>{" "}
                <a href={href(requestsOf(id))}>Requests about it</a>
              </span>
            ),
          }),
          Created: `${instantOf(created_at)} UTC`,
          ...(completed_at !== null && {
            Ended: `${instantOf(completed_at)} UTC, after ${lengthOf(Date.parse(completed_at) - Date.parse(created_at))}`,
          }),
          ...(deployment.url && { URL: <Ref of={deployment.url} to={deployment.url} /> }),
          ...(before &&
            live?.id !== id && {
              [before.id === live?.id ? "Since the live one" : "Since the one before"]: (
                <Changes of={deployment} live={before} sources={sources} />
              ),
            }),
        }}
      />
      <Section title="Log">
        <LogView
          of={log}
          path={`/deployments/${id}`}
          name={`deployment-${id}`}
          empty={completed_at === null ? "No line has been written yet." : "The log is empty."}
        />
      </Section>
    </Page>
  );
}

const wayOf = {
  api: "API",
  dashboard: "dashboard",
  push: "a push",
  hook: "a hook of the code host",
  command: "a command",
} as const;

/** Why a deployment failed: the last error other than "Deployment failed" itself, and its line of the log. */
function Reason({
  of,
  log,
  live,
  before,
  isMade,
}: {
  of: Deployment;
  log: readonly LogEntry[];
  live: DeploymentItem | undefined;
  /** What was live before it. */
  before: DeploymentItem | undefined;
  /** Whether a scenario decided it. */
  isMade: boolean;
}) {
  const line = log.findLastIndex(({ level, message }) => level === "error" && message !== "Deployment failed");
  const reason = log[line]?.message;
  if (!["failed", "rolled_back"].includes(of.status) || reason === undefined) return null;
  const nothing = live ? "Nothing ran here before." : `Nothing is live in ${of.environment}.`;
  const kept = `What ran before keeps running${before?.version ? `: ${shortVersion(before.version)}` : ""}.`;
  const standing = before ? kept : nothing;
  return (
    <div class="reason">
      <p class="problem">
        <Text of={reason.slice(0, 2000)} />
      </p>
      <p class="hint">
        <a href={href(`/deployments/${of.id}?line=${line + 1}`)}>Line {line + 1} of the log</a>. {standing}{" "}
        {isMade ? (
          <>
            A <a href={href("/scenarios")}>scenario</a> made it fail.
          </>
        ) : (
          "Fix this, then deploy again."
        )}
      </p>
    </div>
  );
}

function SourceText({ of }: { of: Deployment["source"] }) {
  if (of.type === "image") return <Ref of={of.image_url ?? ""} />;
  return (
    <>
      <Text of={of.repo ?? ""} />
      {(["branch", "tag"] as const).map(
        (kind) =>
          of[kind] !== null && (
            <span key={kind}>
              {" "}
              {kind} <Text of={of[kind]} />
            </span>
          ),
      )}
    </>
  );
}

/** How a deployment differs from the live one of its environment. */
function Changes({
  of,
  live,
  sources,
}: {
  of: Deployment;
  live: DeploymentItem;
  sources: ReadonlyMap<string, Source>;
}) {
  const before = sources.get(live.id);
  const changed = (name: string, from: string, to: string) => (from === to ? [] : [{ name, from, to }]);
  const all = [
    ...changed("source", before?.repo ?? before?.image_url ?? "", of.source.repo ?? of.source.image_url ?? ""),
    ...changed("branch or tag", before ? refOf(before) : "", refOf(of.source)),
    // What failed before its build ended has no version to compare.
    ...(of.version === null && of.completed_at !== null
      ? []
      : changed("version", shortVersion(live.version), shortVersion(of.version) || "not built yet")),
  ];
  return (
    <>
      {all.length === 0 && "The same source and version. "}
      {all.map(({ name, from, to }) => (
        <div key={name}>
          {name} <Text of={from} /> → <Text of={to} />
        </div>
      ))}
      <a href={href(`/deployments/${live.id}`)}>That deployment</a> <Time at={live.deployed_at ?? live.updated_at} />
    </>
  );
}
