import { signal } from "@preact/signals";
import { api, changesEnded, person, type Session, session } from "../api.ts";
import { type Ended, onCall, shown } from "../calls.ts";
import { control } from "../control.ts";
import { inputOf } from "../forms/call-forms.ts";
import { serviceNow, serviceTime } from "../live.ts";
import type { Kept } from "./kept-recording.ts";
import type { Known } from "./recorded-before.ts";
import { type Form, featureOf, identifiersIn, isRecord, isRunning, type Json } from "./recorded-names.ts";
import type { Step } from "./recorded-test.ts";
import { createSeen } from "./seen-records.ts";
import { outcomeBetween } from "./work-durations.ts";

/** The number of steps so far; undefined while nothing is recorded. */
export const recorded = signal<number | undefined>(undefined);
/** Writes the test file of the last recording in a form. */
export const recordedFile = signal<((form: Form) => string) | undefined>(undefined);

const timeOf = (answer: unknown): number | undefined => {
  const meta = isRecord(answer) ? answer["meta"] : undefined;
  return isRecord(meta) ? Date.parse(String(meta["timestamp"])) : undefined;
};

/** Where this tab keeps a recording while it loads the page again. */
const stored = "svc-recording";
let stop: (() => Promise<void>) | undefined;
/** Lets the browser ask before it leaves: the steps of a recording are in this tab only. */
const warn = (event: Event) => event.preventDefault();

/** Starts to record every write of this tab. */
export async function startRecording(): Promise<void> {
  const startedAt = timeOf(await api.organization.get()) ?? serviceNow();
  const [scenarios, inboxes] = await Promise.all([control.scenarios(), control.inboxes()]);
  const kept = { startedAt, now: startedAt, scenarios, inboxes, steps: [], needsSeed: false };
  const { see, seen, keep } = record(kept);
  shown.value.forEach(see);
  for (const record of await unfinished()) seen.set(record["id"] as string, { record, list: undefined });
  // What runs holds its slots in the test too.
  for (const [id, { record }] of seen) if (isRunning(id, record)) keep(id);
}

/** Records from here on: at the start, and again after the tab was loaded anew. */
function record({ startedAt, scenarios, inboxes, ...kept }: Kept) {
  const { steps } = kept;
  const mode = session.value;
  let { now, needsSeed } = kept;
  /** The recipient of the mail with a token, by token. */
  const mails = new Map(kept.mails);

  const { seen, known, keep, environments, ...records } = createSeen(steps, kept);
  const see = (ended: Ended) => {
    if (ended.call.path === "/_svc/mail" && isRecord(ended.answer) && Array.isArray(ended.answer["data"]))
      for (const mail of ended.answer["data"].filter(isRecord)) mails.set(mail["token"], String(mail["to"]));
    records.see(ended);
  };
  /** Snapshots are not recorded as steps. Restoring one removes the steps made since. */
  const marks = new Map(kept.marks);
  const goesBack = ({ call, answer }: Ended): boolean => {
    const [, id] = /^\/_svc\/snapshots(?:\/([^/]+)(?:\/restore)?)?$/.exec(call.path) ?? [""];
    if (call.path === "/_svc/snapshots") for (const made of idOf(answer)) marks.set(made, { steps: steps.length, now });
    if (id !== undefined && call.method === "POST") {
      const mark = marks.get(decodeURIComponent(id)) ?? { steps: 0, now: startedAt };
      steps.length = mark.steps;
      now = mark.now;
      recorded.value = steps.length;
    }
    return /^\/_svc\/(snapshots|forks|preview|deliveries\/orders)\b/.test(call.path);
  };
  const end = onCall((ended) => {
    now = Math.max(now, timeOf(ended.answer) ?? serviceTime.value?.now ?? 0);
    if (ended.call.method === "GET") return see(ended);
    const who = session.value;
    if (!who || goesBack(ended)) return;
    const input = inputOf(ended.call);
    for (const id of identifiersIn(input)) keep(id);
    needsSeed ||= person.value !== null || identifiersIn(input).some((id) => id.startsWith("usr_"));
    const mailTo = isRecord(ended.call.body) ? mails.get(ended.call.body["token"]) : undefined;
    steps.push({ ...ended, actor: actorOf(who), at: now, mailTo });
    recorded.value = steps.length;
  });
  stop = async () => {
    stop = undefined;
    removeEventListener("beforeunload", warn);
    removeEventListener("pagehide", hide);
    // A move of the clock may be on its way.
    await changesEnded();
    end();
    recorded.value = undefined;
    if (mode === null || steps.length === 0) return;
    const whole = new Map<string, Known>();
    for (const [id, one] of known) {
      const own = one.environments ?? (await environmentsOf(id, steps));
      const after = (await readRecord(id)).record ?? {};
      const record = { ...after, ...one.record };
      const outcome = isRunning(id, record) ? outcomeBetween(id, record, after, timeOf(after) ?? now) : undefined;
      whole.set(id, { ...one, record, ...(own && { environments: own }), ...(outcome && { outcome }) });
    }
    for (const [id, one] of await releasesBefore(steps, whole)) whole.set(id, one);
    // Monitoring needs a larger plan than a new service has.
    const all = [...[...whole.values()].map(({ record }) => record), ...steps.map(({ call }) => call.body)];
    needsSeed ||= all.some((one) => isRecord(one) && one["type"] === "monitoring");
    const ends = [];
    const ids = new Set(steps.flatMap(({ answer, call }) => [...identifiersIn(inputOf(call)), ...idOf(answer)]));
    for (const id of ids) {
      const { record, problem } = await readRecord(id);
      now = Math.max(now, timeOf(record) ?? 0);
      if (record?.["status"] !== undefined || problem === "not_found")
        ends.push({ id, status: record?.["status"], problem });
    }
    const sorted = new Map([...whole].sort(([a], [b]) => (a.slice(-26) < b.slice(-26) ? -1 : 1)));
    // In a separate file, because most people never need it.
    const { recordedTest } = await import("./recorded-test.ts");
    const recording = { startedAt, endedAt: now, steps, known: sorted, ends, needsSeed, scenarios, inboxes };
    recordedFile.value = (form) => recordedTest(recording, form);
  };
  const hide = () =>
    keepForReload({
      ...{ startedAt, scenarios, inboxes, steps, now, needsSeed, mails: [...mails], marks: [...marks] },
      ...{ seen: [...seen], known: [...known], environments: [...environments] },
    });
  recordedFile.value = undefined;
  recorded.value = steps.length;
  addEventListener("beforeunload", warn);
  addEventListener("pagehide", hide);
  return { see, seen, keep };
}

/** Keeps a recording while this tab loads the page again. No other tab sees it, and it ends with the tab. */
const keepForReload = (recording: Kept): void => sessionStorage.setItem(stored, JSON.stringify(recording));

/** The recording that ran when this tab left the page. */
function takeKept(): Kept | undefined {
  const text = sessionStorage.getItem(stored);
  sessionStorage.removeItem(stored);
  return text === null ? undefined : JSON.parse(text);
}

const kept = takeKept();
if (kept) record(kept);

export const stopRecording = async (): Promise<void> => stop?.();

const idOf = (answer: unknown) => (isRecord(answer) && typeof answer["id"] === "string" ? [answer["id"]] : []);
const actorOf = ({ organization, plan, user_id, name, email, role }: Session) => ({
  organization,
  plan,
  user_id,
  name,
  email,
  role,
});

/** The work that has not ended, with the projects that it belongs to. */
async function unfinished(): Promise<readonly Json[]> {
  const lists = await Promise.all([
    ...(["queued", "building", "deploying"] as const).map((status) => api.deployments.list({ status, per_page: 100 })),
    api.generations.list({ per_page: 100 }),
  ]);
  const works = lists.flatMap(({ data }) => data as readonly object[] as readonly Json[]);
  const running = works.filter((one) => isRunning(String(one["id"]), one)).map(({ id }) => String(id));
  const records = await Promise.all(running.map(async (id) => (await readRecord(id)).record));
  const projects = new Set(records.map((record) => record?.["project_id"]).filter((id) => typeof id === "string"));
  const all = [...(await Promise.all([...projects].map(async (id) => (await readRecord(id)).record))), ...records];
  return all.filter((record) => record !== undefined);
}

/** The current state of a record, or the error of reading it; empty for records that no operation reads. */
async function readRecord(id: string): Promise<{ record?: Json; problem?: string }> {
  const feature = featureOf(id);
  const get = feature && (api as unknown as Record<string, Record<string, unknown>>)[feature]?.["get"];
  if (!get) return {};
  try {
    return { record: (await api.call(`${feature}.get`, { id })) as Json };
  } catch (error) {
    return { problem: (error as { code?: string }).code ?? "unreachable" };
  }
}

/** The current environments of a project that no page has shown; undefined if a step changed them. */
async function environmentsOf(id: string, steps: readonly Step[]): Promise<readonly Json[] | undefined> {
  const isChanged = ({ call }: Step) => call.id?.startsWith("environments.") && call.params["id"] === id;
  if (featureOf(id) !== "projects" || steps.some(isChanged)) return undefined;
  return api.environments.list({ id }).then(
    ({ data }) => data as readonly object[] as readonly Json[],
    () => undefined,
  );
}

/** For each rollback of a deployment from before the recording: the release that it rolls back to. */
async function releasesBefore(steps: readonly Step[], known: ReadonlyMap<string, Known>) {
  const found = new Map<string, Known>();
  for (const { call } of steps) {
    const id = call.params["id"] ?? "";
    const { project_id, environment } = known.get(id)?.record ?? {};
    if (call.id !== "deployments.rollback" || typeof project_id !== "string" || typeof environment !== "string")
      continue;
    const { data } = await api.deployments.list({ project_id, environment, status: "active", per_page: 100 });
    const before = data.find((one) => one.id < id);
    if (before)
      found.set(before.id, { record: { ...before, ...(await readRecord(before.id)).record }, list: undefined });
  }
  return found;
}
