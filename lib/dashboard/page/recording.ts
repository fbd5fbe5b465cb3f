import { signal } from "@preact/signals";
import { api, person, type Session, session } from "./api.ts";
import { inputOf } from "./call-forms.ts";
import { type Ended, onCall, shown } from "./calls.ts";
import { serviceTime } from "./live.ts";
import { featureOf, identifiersIn, isRecord, type Json, type Known, recordedTest, type Step } from "./recorded-test.ts";

/** The number of steps so far; undefined while nothing is recorded. */
export const recorded = signal<number | undefined>(undefined);
/** The file of the last recording. */
export const recordedFile = signal<string | undefined>(undefined);

const timeOf = (answer: unknown): number | undefined => {
  const meta = isRecord(answer) ? answer["meta"] : undefined;
  return isRecord(meta) ? Date.parse(String(meta["timestamp"])) : undefined;
};

let stop: (() => Promise<void>) | undefined;

/** Begins to keep every write of this tab. */
export async function startRecording(): Promise<void> {
  const seen = new Map<string, Known>();
  const known = new Map<string, Known>();
  const steps: Step[] = [];
  const mode = session.value;
  let hasPeople = false;
  const startedAt = timeOf(await api.organization.get()) ?? serviceTime.value?.now ?? Date.now();
  let now = startedAt;

  const see = ({ call, answer }: Ended) => {
    if (!isRecord(answer)) return;
    const { data } = answer;
    const all: readonly unknown[] = Array.isArray(data) ? data : [answer];
    all.forEach((record, index) => {
      if (!isRecord(record) || typeof record["id"] !== "string") return;
      const before = seen.get(record["id"]);
      const list = Array.isArray(data) && call.id !== undefined ? { call, index } : before?.list;
      seen.set(record["id"], { record: { ...before?.record, ...record }, list });
    });
  };
  const keep = (id: string): void => {
    const found = seen.get(id);
    if (!found || known.has(id) || steps.some(({ answer }) => isRecord(answer) && answer["id"] === id)) return;
    known.set(id, found);
    for (const one of identifiersIn(found.record)) if (one !== id) keep(one);
  };
  shown.value.forEach(see);
  const undo = undoIn(steps);
  const end = onCall((ended) => {
    now = Math.max(now, timeOf(ended.answer) ?? serviceTime.value?.now ?? 0);
    if (ended.call.method === "GET") return see(ended);
    const back = undo(ended, now);
    now = back ?? now;
    const who = session.value;
    if (back !== undefined || !who) return;
    const input = inputOf(ended.call);
    for (const id of identifiersIn(input)) keep(id);
    hasPeople ||= person.value !== null || identifiersIn(input).some((id) => id.startsWith("usr_"));
    steps.push({ ...ended, actor: actorOf(who), at: now });
    recorded.value = steps.length;
  });
  stop = async () => {
    end();
    stop = undefined;
    recorded.value = undefined;
    if (mode === null || steps.length === 0) return;
    const whole = new Map<string, Known>();
    for (const [id, one] of known)
      whole.set(id, { ...one, record: { ...(await readRecord(id)).record, ...one.record } });
    for (const [id, one] of await releasesBefore(steps, whole)) whole.set(id, one);
    const ends = [];
    const ids = new Set(steps.flatMap(({ answer, call }) => [...identifiersIn(inputOf(call)), ...idOf(answer)]));
    for (const id of ids) {
      const { record, problem } = await readRecord(id);
      now = Math.max(now, timeOf(record) ?? 0);
      if (record?.["status"] !== undefined || problem === "not_found")
        ends.push({ id, status: record?.["status"], problem });
    }
    const sorted = new Map([...whole].sort(([a], [b]) => (a.slice(-26) < b.slice(-26) ? -1 : 1)));
    recordedFile.value = recordedTest({ startedAt, endedAt: now, steps, known: sorted, ends, hasPeople });
  };
  recordedFile.value = undefined;
  recorded.value = 0;
}

/**
 * What was undone by a snapshot was never done. Answers the time that a recording goes on from after a call that concerns
 * snapshots and forks, which no recording has; undefined for any other call.
 */
function undoIn(steps: Step[]): (ended: Ended, now: number) => number | undefined {
  const kept = new Map<string, { readonly steps: number; readonly now: number }>();
  return ({ call: { path }, answer, problem }, now) => {
    if (!/^\/_svc\/(snapshots|forks|preview)(\/|$)/.test(path)) return undefined;
    const id = isRecord(answer) && problem === undefined ? String(answer["id"]) : "";
    if (path === "/_svc/snapshots") kept.set(id, { steps: steps.length, now });
    const before = path.endsWith("/restore") ? kept.get(id) : undefined;
    if (!before) return now;
    steps.length = before.steps;
    recorded.value = steps.length;
    return before.now;
  };
}

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

/** A record as it is now, or why it cannot be read; neither for records that no operation reads. */
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

/** A roll-back needs an older release: the newest one before each deployment that was there and is rolled back. */
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
