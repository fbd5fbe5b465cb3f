import * as v from "valibot";
import { type NewScenario, newScenario } from "../../lib/features/scenarios/schema.ts";
import { formatDuration } from "../../lib/kernel/text/duration.ts";
import { isRecord } from "../output.ts";
import type { Account, Json, Work } from "./recorder.ts";
import type { Cleaner } from "./without-secrets.ts";

/** The number of scenarios that are kept for each match: the newest ones. */
const maxOfOneMatch = 20;
const maxMessage = 4_000;
/** Default durations of the states before and after a build, for when the recording did not see them. */
const usual_ms = { queued: 1_000, deploying: 2_000 };

/** A scenario with the creation time of its work. */
interface Found {
  readonly created: string;
  readonly match: Json;
  readonly outcome: Json;
}

const timeOf = (value: unknown): number | undefined => {
  const time = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
};
const between = (from: number, to: number) => formatDuration(Math.max(0, to - from));

/** State changes that the recording did not see get the default durations, limited to the known total time. */
function durationsOf({ record, entered }: Work, reachedRollout: boolean): Json | undefined {
  const from = timeOf(record["created_at"]);
  const to = timeOf(record["completed_at"]);
  if (from === undefined || to === undefined) return undefined;
  const building = entered["building"] ?? Math.min(from + usual_ms.queued, entered["deploying"] ?? to, to);
  const rollout = entered["deploying"] ?? Math.max(building, to - usual_ms.deploying);
  return {
    queued: between(from, building),
    building: between(building, reachedRollout ? rollout : to),
    ...(reachedRollout && { deploying: between(rollout, to) }),
  };
}

export function ofDeployment(work: Work, reason: string | undefined, cleaner: Cleaner): Found | undefined {
  const { record, entered } = work;
  const { status, source, environment, version, created_at } = record;
  if (!isRecord(source) || !["active", "failed", "rolled_back"].includes(String(status))) return undefined;
  const named = ["repo", "branch", "tag", "image_url"].flatMap((name) => {
    const value = source[name];
    return typeof value === "string" ? [[name, cleaner.glob(value)] as const] : [];
  });
  const reachedRollout = status !== "failed" || entered["deploying"] !== undefined || typeof version === "string";
  const durations = durationsOf(work, reachedRollout);
  const ends = {
    active: { result: "succeed" },
    rolled_back: { result: "rolled_back" },
    failed: { result: "fail", at: reachedRollout ? "deploying" : "building" },
  }[String(status)];
  return {
    created: String(created_at),
    match: { ...Object.fromEntries(named), environment: String(environment) },
    outcome: {
      ...ends,
      ...messageOf(status === "failed" ? reason : undefined, cleaner),
      ...(durations && { durations }),
    },
  };
}

export function ofGeneration({ record, entered }: Work, cleaner: Cleaner): Found | undefined {
  const { status, model, input, usage, error, created_at } = record;
  const hasFailed = status === "failed";
  if (!hasFailed && status !== "completed" && status !== "succeeded") return undefined;
  const prompt =
    isRecord(input) && typeof input["prompt"] === "string" ? { prompt: cleaner.glob(input["prompt"]) } : {};
  const cost = isRecord(usage) ? usage["cost_usd"] : undefined;
  const { [String(status)]: end = 0, queued, in_progress } = entered;
  const began = in_progress ?? queued;
  const durations = {
    ...(queued !== undefined && in_progress !== undefined && { queued: between(queued, in_progress) }),
    ...(began !== undefined && { in_progress: between(began, end) }),
  };
  return {
    created: String(created_at).padStart(12, "0"),
    match: { model: cleaner.glob(String(model)), ...prompt },
    outcome: {
      result: hasFailed ? "fail" : "succeed",
      ...messageOf(hasFailed && isRecord(error) ? error["message"] : undefined, cleaner),
      ...(Object.keys(durations).length > 0 && { durations }),
      ...(!hasFailed && typeof cost === "number" && { cost_usd: cost }),
    },
  };
}

const messageOf = (message: unknown, cleaner: Cleaner) =>
  typeof message === "string" && message !== "" ? { message: cleaner.text(message).slice(0, maxMessage) } : {};

/**
 * Scenarios that make simulated work end like the real work. Each match keeps its outcomes in order. The newest stays
 * in force, so an emulator continues with the account's current behaviour.
 */
export function scenariosOf(account: Account, cleaner: Cleaner): NewScenario[] {
  const ended = [
    ...[...account.deployments].map(([id, work]) => ofDeployment(work, account.reasons.get(id), cleaner)),
    ...[...account.generations.values()].map((work) => ofGeneration(work, cleaner)),
  ].filter((one) => one !== undefined);
  const byMatch = new Map<string, Found[]>();
  for (const one of ended.sort((a, b) => (a.created < b.created ? -1 : a.created > b.created ? 1 : 0))) {
    const key = JSON.stringify(one.match);
    byMatch.set(key, [...(byMatch.get(key) ?? []), one]);
  }
  return [...byMatch.values()].flatMap((all) =>
    all.slice(-maxOfOneMatch).flatMap(({ match, outcome }, i, kept) => {
      const scenario = { match, outcome, ...(i < kept.length - 1 && { times: 1 }) };
      return v.is(newScenario, scenario) ? [scenario as NewScenario] : [];
    }),
  );
}
