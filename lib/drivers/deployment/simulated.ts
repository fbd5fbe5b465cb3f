import { createHash } from "node:crypto";
import { milliseconds } from "../../kernel/text/duration.ts";
import { failures, type SimulatedOutcome } from "../simulated-outcome.ts";
import type { DeploymentDriver, DeploymentWork, LogLine } from "./contract.ts";

/** The default durations (schema/README.md#deployments). */
const defaultDurations = { queued: "1s", building: "3s", deploying: "2s" } as const;

/** All steps share this handle. It only means that the first lines are logged. */
const handle = "begun";

const info = (message: string): LogLine => ({ level: "info", message });

type Subject = Pick<DeploymentWork, "source" | "environment">;
type Scripted = Subject & Pick<DeploymentWork, "outcome">;

/**
 * Simulated deployments: they take time and write readable logs but have no effect. The deployment's scenario decides
 * the outcome, otherwise `script`. Without either, a deployment succeeds in the default durations.
 */
export function simulatedDeployments(
  script: (work: Subject) => SimulatedOutcome | undefined = () => undefined,
): DeploymentDriver {
  const outcomeOf = (work: Scripted): SimulatedOutcome => work.outcome ?? script(work) ?? {};
  const durationOf = (work: Scripted, phase: keyof typeof defaultDurations) => {
    const { pace, durations } = outcomeOf(work);
    return pace === "instant" ? 0 : milliseconds(durations?.[phase] ?? defaultDurations[phase]);
  };
  return {
    takesScenarios: true,
    delay: (work) => durationOf(work, "queued"),
    async step(work) {
      const outcome = outcomeOf(work);
      const phase = work.step === "build" ? "building" : "deploying";
      const left_ms = durationOf(work, phase) - work.elapsed_ms;
      const [opening, closing] = work.step === "build" ? buildLines(work) : rolloutLines(work);
      const first = work.handle === handle ? [] : opening;
      if (left_ms > 0) return { state: "running", again_ms: left_ms, handle, logs: first };
      const logs = [...first, ...(work.step === "build" ? (outcome.logs ?? []) : [])];
      const failure = failureOf(outcome, phase);
      if (!failure) return { state: "done", version: versionOf(work), logs: [...logs, ...closing] };
      return { ...failure, logs: [...logs, { level: "error", message: failure.message }] };
    },
  };
}

function failureOf({ result, at = "building", message }: SimulatedOutcome, phase: "building" | "deploying") {
  if (result !== "fail" && result !== "rolled_back") return undefined;
  const failure = failures[result === "rolled_back" ? "health_check" : at];
  return failure.phase === phase ? { state: failure.state, message: message ?? failure.message } : undefined;
}

/** The tag or the digest. For a branch, a commit id that is unique per deployment. */
function versionOf({ deployment_id, source, version, revision }: DeploymentWork): string {
  if (version !== null) return version;
  if (source.type === "image") {
    const url = source.image_url ?? "";
    const [, digest] = /@(sha256:[0-9a-f]{64})$/.exec(url) ?? [];
    return digest ?? `sha256:${createHash("sha256").update(url).digest("hex")}`;
  }
  return source.tag ?? revision ?? createHash("sha1").update(deployment_id).digest("hex");
}

function buildLines(work: DeploymentWork): [LogLine[], LogLine[]] {
  const { source } = work;
  const version = versionOf(work);
  if (source.type === "image") {
    return [[info(`Pulling ${source.image_url}`)], [info(`Resolved the image to ${version}`), info("Image ready")]];
  }
  const ref = source.tag ? `tag ${source.tag}` : source.branch ? `branch ${source.branch}` : "the default branch";
  return [
    [info(`Cloning ${source.repo}, ${ref}`), info("Installing dependencies"), info("Building")],
    [info(`Built version ${version}`)],
  ];
}

const rolloutLines = ({ environment, version }: DeploymentWork): [LogLine[], LogLine[]] => [
  [info(`Rolling out ${version} to ${environment}`)],
  [info("Health check passed"), info(`${version} is live in ${environment}`)],
];
