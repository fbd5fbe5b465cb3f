import type { Delivery, DeploymentItem, EventRecord } from "../../client/generated/records.ts";
import { api, orNone, session } from "./api.ts";
import { readUpcoming } from "./clock.ts";
import type { IconName } from "./icon.tsx";
import { hostOf, isGood, type Receiver, readReceivers, sinceSuccess, wordOf } from "./receiver-health.tsx";

const running = ["deploying", "building", "queued"] as const;
/** The most receivers whose deliveries are read. */
const mostReceivers = 12;
const mostReasons = 3;
const mostListed = 8;
/** From so many deployments of a state on, only their least number is said. */
export const mostCounted = 100;

/** Something that happened, as a line of the overview. */
export interface Happened {
  readonly at: string;
  readonly icon: IconName;
  readonly text: string;
  readonly path: string;
  readonly hue?: "good" | "bad" | undefined;
  readonly more?: string | undefined;
}

interface Watched extends Receiver {
  readonly deliveries: readonly Delivery[];
  /** The delivery that turned it off; undefined if it is on, or if somebody turned it off. */
  readonly gaveUp: Delivery | undefined;
}

/** The text of the last error in the log of a deployment. */
export async function reasonOf(id: string, signal: AbortSignal): Promise<string> {
  const { data } = await api.deployments.logs({ id, per_page: 1000 }, { signal });
  const errors = data.filter(({ level, message }) => level === "error" && message !== "Deployment failed");
  return errors.at(-1)?.message ?? "";
}

/** What turned receivers off, by id. Kept from one refresh to the next, because its search may take many pages. */
export type GaveUp = Map<string, Watched["gaveUp"]>;

async function receivers(signal: AbortSignal, known: GaveUp): Promise<readonly Watched[]> {
  const all = await readReceivers(signal);
  return Promise.all(
    all.slice(0, mostReceivers).map(async (one) => {
      const { data } = await api[one.family].deliveries({ id: one.id, per_page: 20 }, { signal });
      if (one.status === "active") known.delete(one.id);
      else if (!known.has(one.id)) known.set(one.id, (await sinceSuccess(one.family, one.id, signal)).gaveUp);
      return { ...one, deliveries: data, gaveUp: known.get(one.id) };
    }),
  );
}

/** Everything that the overview tells, but the numbers of the last hour. */
export async function readOverview(signal: AbortSignal, known: GaveUp) {
  const list = (more: object) => orNone(api.deployments.list({ per_page: 20, ...more }, { signal }));
  const isDev = session.value?.mode === "dev";
  const [latest, failed, all, generations, events, upcoming, ...active] = await Promise.all([
    list({ per_page: mostCounted }),
    list({ status: "failed", per_page: 5 }),
    receivers(signal, known),
    orNone(api.generations.list({ per_page: 6 }, { signal })),
    orNone(api.events.list({ per_page: 12 }, { signal })),
    isDev ? readUpcoming() : [],
    ...running.map((status) => list({ status, per_page: mostCounted })),
  ]);
  const runs = active.flatMap(({ data }) => data);
  const placeOf = ({ project_id, environment }: DeploymentItem) => `${project_id} ${environment}`;
  const failures = await Promise.all(
    failed.data.map(async (deployment) => {
      const { project_id, environment } = deployment;
      const live = await orNone(
        api.deployments.list({ project_id, environment, status: "active", per_page: 1 }, { signal }),
      );
      return { deployment, live: live.data[0] };
    }),
  );
  // A later deployment to the same place has settled the others.
  const open = failures.filter(
    (one, i) =>
      !(one.live && one.live.id > one.deployment.id) &&
      failures.findIndex((other) => placeOf(other.deployment) === placeOf(one.deployment)) === i,
  );
  // What runs leads. Of those that wait for one environment, the newest is shown.
  const shown = new Map<string, DeploymentItem>();
  for (const one of [...runs, ...latest.data]) {
    const key = one.status === "queued" ? placeOf(one) : one.id;
    if (!shown.has(key)) shown.set(key, one);
  }
  const reasons = await Promise.all(open.slice(0, mostReasons).map((one) => reasonOf(one.deployment.id, signal)));
  return {
    latest: [...shown.values()].slice(0, mostListed),
    failed: open.map((one, i) => ({ ...one, reason: reasons[i] ?? "" })),
    receivers: all,
    generations: generations.data,
    events: events.data,
    upcoming: upcoming.slice(0, 6),
    running: runs,
  };
}
export type Overview = Awaited<ReturnType<typeof readOverview>>;

/** Why a receiver needs somebody: it turned itself off, or its last answer was no success. */
export function troubleOf({ status, deliveries, gaveUp }: Watched): string | undefined {
  const attempts = (gaveUp ? [gaveUp] : deliveries).flatMap((one) => one.attempts);
  const last = attempts.sort((a, b) => a.at.localeCompare(b.at)).at(-1);
  if (!last || isGood(last)) return undefined;
  const text = `the last answer was ${wordOf(last)}`;
  if (status === "inactive") return gaveUp && `turned itself off; ${text}`;
  return `fails: ${text}${deliveries.some((one) => one.status === "pending") ? ", and it is tried again" : ""}`;
}

function eventPath({ event, data }: EventRecord): string {
  const { deployment_id, generation_id, project_id } = data;
  if (typeof deployment_id === "string") return `/deployments/${deployment_id}`;
  if (typeof generation_id === "string") return `/generations/${generation_id}`;
  if (typeof project_id === "string" && event !== "project.deleted") return `/projects/${project_id}`;
  return event.startsWith("user.") ? "/people" : "/events";
}

const icons: Readonly<Record<string, IconName>> = {
  deployment: "rocket",
  generation: "image",
  project: "box",
  user: "users",
};

/** What people call the records whose work is due. */
export const namesOf = ({ running, generations, receivers }: Overview, nameOf: (project_id: string) => string) =>
  new Map([
    ...running.map(({ id, project_id, environment }) => [id, `${nameOf(project_id)} to ${environment}`] as const),
    ...generations.map(({ id, input, model }) => [id, String(input["prompt"] ?? model).slice(0, 100)] as const),
    ...receivers.map(({ id, name }) => [id, hostOf(name)] as const),
  ]);

interface Told extends Happened {
  /** What many of in a row are told as one line; none for events. */
  readonly group?: { readonly key: string; readonly text: (count: number) => string; readonly path: string };
}

/** The answers of receivers; those that accepted an event at once are together. */
function triesOf({ receivers }: Overview): Map<string, Told[]> {
  const tries = new Map<string, Told[]>();
  for (const { family, id, name, deliveries } of receivers)
    for (const { id: delivery, event, attempts } of deliveries)
      for (const [i, { at, ...answer }] of attempts.entries()) {
        const isAccepted = isGood(answer);
        const host = hostOf(name);
        const text = `${host} answered ${wordOf(answer)} to ${event}${i > 0 ? `, try ${i + 1}` : ""}`;
        const path = `/${family}/${id}/${delivery}`;
        const key = isAccepted && i === 0 ? `${event} ${at.slice(0, 19)}` : `${path} ${i}`;
        const word = isAccepted ? "accepted" : "refused";
        const group = {
          key: `${id} ${word}`,
          text: (count: number) => `${host} ${word} ${count} deliveries`,
          path: `/${family}/${id}`,
        };
        const one: Told = { at, icon: "webhook", text, path, hue: isAccepted ? "good" : "bad", group };
        tries.set(key, [...(tries.get(key) ?? []), one]);
      }
  return tries;
}

/** Two failures in a row may have two reasons. */
const fewestGrouped = { good: 2, bad: 3 };
/** Many answers of one receiver in a row become one line, which would push out everything else. */
function grouped(told: readonly Told[]): readonly Happened[] {
  const rows: Told[][] = [];
  for (const one of told) {
    const row = rows.at(-1);
    if (one.group && row?.[0]?.group?.key === one.group.key) row.push(one);
    else rows.push([one]);
  }
  return rows.flatMap((row): readonly Happened[] => {
    const [first] = row;
    return first?.group && row.length >= fewestGrouped[first.hue ?? "bad"]
      ? [{ ...first, text: first.group.text(row.length), path: first.group.path }]
      : row;
  });
}

/** What happened lately, newest first: events and the answers of receivers. */
export function lately(overview: Overview, nameOf: (project_id: string) => string): readonly Happened[] {
  const { events, generations } = overview;
  const tries = triesOf(overview);
  const keyOf = ({ event, timestamp }: EventRecord) => `${event} ${timestamp.slice(0, 19)}`;
  const happened = events.map((one): Happened => {
    // Of several events at once nobody knows which of them each receiver accepted.
    const times = events.filter((other) => keyOf(other) === keyOf(one)).length;
    const accepted = times === 1 ? tries.get(keyOf(one))?.map(({ text }) => text.split(" answered ")[0]) : undefined;
    if (accepted) tries.delete(keyOf(one));
    const { name, email, project_id, environment, generation_id } = one.data;
    const prompt = generations.find(({ id }) => id === generation_id)?.input["prompt"];
    const about = [name ?? email ?? prompt ?? (project_id ? nameOf(String(project_id)) : undefined), environment];
    const words = about.filter((word) => typeof word === "string").join(" to ");
    return {
      at: one.timestamp,
      icon: icons[one.event.split(".")[0] ?? ""] ?? "zap",
      text: `${one.event.replace(/[._]/g, " ")}${words && `: ${words}`}`,
      path: eventPath(one),
      hue: /failed|crashed/.test(one.event) ? "bad" : /succeeded|completed/.test(one.event) ? "good" : undefined,
      more: accepted && `accepted by ${[...new Set(accepted)].join(", ")}`,
    };
  });
  const all: readonly Told[] = [...[...tries.values()].flat(), ...happened];
  return grouped(all.toSorted((a, b) => (a.at < b.at ? 1 : -1))).slice(0, 10);
}
