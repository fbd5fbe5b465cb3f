import { createHash } from "node:crypto";
import { milliseconds } from "../../kernel/duration.ts";
import type { SimulatedOutcome } from "../simulated-outcome.ts";
import type { DeploymentDriver, DeploymentWork, LogLine, Progress } from "./contract.ts";

/** CONTRACT section 8: "Simulated work takes by default 1 s queued, 3 s building, 2 s deploying". */
const usual = { queued: "1s", building: "3s", deploying: "2s" } as const;

const info = (message: string): LogLine => ({ level: "info", message });

type About = Pick<DeploymentWork, "source" | "environment">;
type Begun = About & Pick<DeploymentWork, "outcome">;

/**
 * Deployments that take time, write readable logs and touch nothing. How one turns out is decided by the scenario that it
 * took, or else by `script`.
 */
export function simulatedDeployments(
  script: (work: About) => SimulatedOutcome | undefined = () => undefined,
): DeploymentDriver {
  const outcomeOf = (work: Begun): SimulatedOutcome => work.outcome ?? script(work) ?? {};
  const lasts = (work: Begun, phase: keyof typeof usual) => {
    const { pace, durations } = outcomeOf(work);
    return pace === "instant" ? 0 : milliseconds(durations?.[phase] ?? usual[phase]);
  };
  return {
    takesScenarios: true,
    delay: (work) => lasts(work, "queued"),
    async step(work) {
      const outcome = outcomeOf(work);
      const phase = work.step === "build" ? "building" : "deploying";
      const left = lasts(work, phase) - work.elapsed_ms;
      const [opening, closing] = work.step === "build" ? buildLines(work) : rolloutLines(work);
      const begun = work.handle === "begun";
      const logs = begun ? [] : opening;
      if (left > 0) return { state: "running", again_ms: left, handle: "begun", logs };
      const extra = [...logs, ...(work.step === "build" ? (outcome.logs ?? []) : [])];
      return (
        ending(work, outcome, phase) ?? {
          state: "done",
          version: versionOf(work),
          logs: [...extra, ...closing],
        }
      );

      function ending(
        { step }: DeploymentWork,
        { result, at = "building", message }: SimulatedOutcome,
        now: string,
      ): Progress | undefined {
        if (result === "fail" && at === now) {
          const text = message ?? `the ${step} failed`;
          return {
            state: "failed",
            message: text,
            logs: [...extra, { level: "error", message: text }],
          };
        }
        if (result === "rolled_back" && now === "deploying") {
          const text = message ?? "the health check failed";
          return {
            state: "unhealthy",
            message: text,
            logs: [...extra, { level: "error", message: text }],
          };
        }
        return undefined;
      }
    },
  };
}

/** The tag, a commit id, or a digest. "Simulated: another one for every deployment." */
function versionOf({ deployment_id, source, version, revision }: DeploymentWork): string {
  if (version !== null) return version;
  if (source.type === "image") {
    return (
      /@(sha256:[0-9a-f]{64})$/.exec(source.image_url ?? "")?.[1] ??
      `sha256:${createHash("sha256")
        .update(source.image_url ?? "")
        .digest("hex")}`
    );
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
