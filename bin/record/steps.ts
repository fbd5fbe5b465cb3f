import { createHash } from "node:crypto";
import { calls } from "../../lib/client/generated/calls.ts";
import { callOf } from "../../lib/dashboard/page/recorded-call.ts";
import type { Known } from "../../lib/dashboard/page/recorder/recorded-before.ts";
import {
  collectionOf,
  creationOf,
  identifiersIn,
  isRecord,
  type Json,
} from "../../lib/dashboard/page/recorder/recorded-names.ts";
import type { Step } from "../../lib/dashboard/page/recorder/recorded-test.ts";
import { createSeen } from "../../lib/dashboard/page/recorder/seen-records.ts";
import { type Exchange, parseJson } from "./recorder.ts";

/** Nobody reads a longer test, or a longer list of what it leaves out. */
const maxSteps = 1_000;
const maxReasons = 100;

/** A step of a recording, with a caller instead of a person. */
export interface CallerStep extends Omit<Step, "actor"> {
  readonly caller: string;
}

/** A state of a record, and when it was first seen. */
export interface Sight {
  readonly status: string;
  readonly first: number;
  /** Whether a later call showed it, and not only the creation of the record. */
  isRead: boolean;
}

/** Problems that the same calls cause again in a new service. Others depend on state that the recorder cannot see. */
const repeatable = [
  "not_found",
  "name_taken",
  "project_archived",
  "not_cancellable",
  "no_previous_version",
  "validation_failed",
];
/** By prefix of identifiers, a required field of new records that lists leave out. */
const whole = { dep_: "source", gen_: "prompt", int_: "config" };
/** Operations that a service in a test cannot serve. */
const unavailable = /^(repositories|invitations\.accept|environments\.(restart|logs|runs))/;

const unwrapped = (body: Json): Json => (isRecord(body["data"]) ? body["data"] : body);
export const hasGet = (feature = ""): boolean =>
  Object.entries(calls).some(([name, verbs]) => name === feature && "get" in verbs);

export type StepRecorder = ReturnType<typeof createStepRecorder>;

/** Turns exchanges into the steps of a test, as the dashboard does. */
export function createStepRecorder() {
  const steps: CallerStep[] = [];
  const { see, keep, known, seen } = createSeen(steps as readonly object[] as readonly Step[]);
  const sights = new Map<string, Sight[]>();
  /** The person of each caller, by the hash of the key. */
  const callers = new Map<string, { readonly user?: Json }>();
  const left = new Set<string>();
  const leave = (reason: string) => left.add(left.size < maxReasons ? reason : "more calls are not in the test");
  const created = new Set<string>();
  let startedAt: number | undefined;
  let endedAt = 0;

  const watch = (record: Json, at: number, isMade: boolean) => {
    const { id, status } = record;
    if (typeof id !== "string" || typeof status !== "string") return;
    const all = sights.get(id) ?? [];
    sights.set(id, all);
    const last = all.at(-1);
    if (last?.status !== status) all.push({ status, first: at, isRead: !isMade });
    else last.isRead ||= !isMade;
  };
  /** Whether the test can make a record, or has made it. */
  const isKnown = (id: string, above: readonly string[] = []): boolean => {
    // A record may name itself in a text.
    if (created.has(id) || above.includes(id)) return true;
    const { record, list } = seen.get(id) ?? {};
    const creation = creationOf(collectionOf(id));
    if (!record || (!creation && !id.startsWith("inv_") && !list)) return false;
    if (Object.entries(whole).some(([prefix, field]) => id.startsWith(prefix) && record[field] === undefined))
      return false;
    const fields = creation?.fields.split(" ") ?? [];
    return fields.every((name) => identifiersIn(record[name]).every((one) => isKnown(one, [...above, id])));
  };
  /** Why a step cannot be in the test; undefined if it can. */
  const obstacleOf = ({
    call,
    problem,
    caller,
  }: Pick<CallerStep, "call" | "problem" | "caller">): string | undefined => {
    const isSameAgain =
      repeatable.includes(problem ?? "") || (problem === "insufficient_role" && callers.get(caller)?.user);
    if (problem !== undefined && !isSameAgain) return `it was refused with ${problem}`;
    if (call.id === undefined || unavailable.test(call.id)) return "a service in a test does not have it";
    const named = [...identifiersIn(call.params), ...identifiersIn(call.body)];
    const present = problem === "not_found" ? named.find((id) => seen.has(id) && !hasDeleted(steps, id)) : undefined;
    if (present !== undefined) return `${present} was there before, and no call in the test deletes it`;
    const unknown = named.find((id) => !isKnown(id));
    if (unknown !== undefined && problem !== "not_found" && !unknown.startsWith("dlv_"))
      return `${unknown} had not been read before, alone and not in a list`;
    const { id = "" } = call.params;
    const status = sights.get(id)?.at(-1)?.status ?? "";
    if (problem === "not_cancellable" && ["queued", "building", "in_progress"].includes(status))
      return `${id} had not been read since its state changed`;
    if (call.id === "deployments.rollback" && problem === undefined && releaseBefore(id) === undefined)
      return "the release before it had not been read before";
    return undefined;
  };
  /** The newest release before a deployment, in its environment. */
  const releaseBefore = (id: string): string | undefined => {
    const { project_id, environment } = seen.get(id)?.record ?? {};
    const isOne = ({ record }: Known) =>
      record["project_id"] === project_id && record["environment"] === environment && record["status"] === "active";
    return [...seen]
      .flatMap(([one, known]) => (one < id && isOne(known) ? [one] : []))
      .sort()
      .at(-1);
  };
  const keepNamesake = (body: unknown) => {
    const name = isRecord(body) ? String(body["name"]).toLowerCase() : "";
    const [id] =
      [...seen].find(([one, { record }]) => one.startsWith("proj_") && String(record["name"]).toLowerCase() === name) ??
      [];
    if (id !== undefined) keep(id);
    return id !== undefined;
  };

  return {
    steps,
    known,
    seen,
    sights,
    callers,
    left,
    span: () => ({ startedAt: startedAt ?? 0, endedAt }),

    observe(exchange: Exchange): void {
      const { method, path, caller, status, answer, encoding, at } = exchange;
      const text = answer.length === 0 ? {} : parseJson(answer, encoding);
      const call = callOf(method, `/dashboard/api${path}`, parseJson(exchange.request));
      if (!caller || !call || !isRecord(text)) return;
      startedAt ??= at;
      endedAt = Math.max(endedAt, at);
      const hash = createHash("sha256").update(caller).digest("base64");
      if (!callers.has(hash)) callers.set(hash, {});
      const result = unwrapped(text);
      const records = Array.isArray(text["data"]) ? text["data"].filter(isRecord) : [result];
      if (call.id === "me.get" && status === 200)
        callers.set(hash, isRecord(result["user"]) ? { user: result["user"] } : {});
      if (method === "GET") {
        if (status !== 200) return;
        for (const record of records) watch(record, at, false);
        see({ call, answer: Array.isArray(text["data"]) ? text : result });
        return;
      }
      const error = isRecord(text["error"]) ? text["error"]["code"] : undefined;
      const problem = status >= 400 ? String(error ?? status) : undefined;
      const { id } = result;
      // This answer is the replay of an idempotency key.
      if (method === "POST" && typeof id === "string" && status === 201 && created.has(id)) return;
      if (steps.length === maxSteps) return void left.add(`a test has at most ${maxSteps} calls`);
      const reason = obstacleOf({ call, problem, caller: hash });
      const place = `${method} ${call.path.split("?", 1)[0]}`;
      if (reason !== undefined) return void leave(`${place} is not in the test: ${reason}`);
      if (problem === "name_taken" && !keepNamesake(call.body) && !hasMade(steps, call.body))
        return void leave(`${place} is not in the test: who has the name was not read before`);
      const release = call.id === "deployments.rollback" ? releaseBefore(call.params["id"] ?? "") : undefined;
      if (problem !== "not_found")
        for (const one of [...identifiersIn(call.params), ...identifiersIn(call.body), release]) if (one) keep(one);
      if (problem === undefined) watch(result, at, status === 201);
      // Known from now on. The test itself creates this record, so it did not exist before.
      if (problem === undefined) see({ call, answer: result });
      steps.push({ call, at, answer: result, problem, caller: hash });
      if (problem === undefined && method === "POST" && typeof id === "string") created.add(id);
    },
  };
}

const hasDeleted = (steps: readonly CallerStep[], id: string) =>
  steps.some(
    ({ call, problem }) =>
      call.method === "DELETE" && problem === undefined && call.path.split("?", 1)[0]?.endsWith(id),
  );
const nameIn = (value: unknown) => (isRecord(value) ? String(value["name"]).toLowerCase() : undefined);
const hasMade = (steps: readonly CallerStep[], body: unknown) =>
  steps.some(
    ({ call, problem }) =>
      call.id?.startsWith("projects.") && problem === undefined && nameIn(call.body) === nameIn(body),
  );
