import type { Delivery, EventRecord } from "../../client/generated/records.ts";
import { api, orNone, session } from "./api.ts";
import { readUpcoming } from "./clock.ts";
import type { IconName } from "./icon.tsx";
import { type Family, sinceSuccess, wordOf } from "./receiver-health.tsx";

const running = ["queued", "building", "deploying"] as const;
/** The most receivers whose deliveries are read. */
const mostReceivers = 12;
const mostReasons = 3;

/** Something that happened, as a line of the overview. */
export interface Happened {
  readonly at: string;
  readonly icon: IconName;
  readonly text: string;
  readonly path: string;
  readonly hue?: "good" | "bad" | undefined;
}

export interface Receiver {
  readonly family: Family;
  readonly id: string;
  readonly name: string;
  readonly status: "active" | "inactive";
  readonly deliveries: readonly Delivery[];
  /** The delivery that turned it off; undefined if it is on, or if somebody turned it off. */
  readonly gaveUp: Delivery | undefined;
}

/** The text of the last error in the log of a deployment. */
async function reasonOf(id: string, signal: AbortSignal): Promise<string> {
  const { data } = await api.deployments.logs({ id, per_page: 1000 }, { signal });
  const errors = data.filter(({ level, message }) => level === "error" && message !== "Deployment failed");
  return errors.at(-1)?.message ?? "";
}

async function receivers(signal: AbortSignal): Promise<readonly Receiver[]> {
  const [webhooks, integrations] = await Promise.all([
    orNone(api.webhooks.list({}, { signal })),
    orNone(api.integrations.list({}, { signal })),
  ]);
  const all = [
    ...webhooks.data.map(({ id, url, status }) => ({ family: "webhooks" as const, id, name: url, status })),
    ...integrations.data.flatMap(({ id, name, status, type }) =>
      type === "code_host" ? [] : [{ family: "integrations" as const, id, name, status }],
    ),
  ];
  return Promise.all(
    all.slice(0, mostReceivers).map(async (one) => {
      const { data } = await api[one.family].deliveries({ id: one.id, per_page: 5 }, { signal });
      const isOff = one.status === "inactive";
      const gaveUp = isOff ? (await sinceSuccess(one.family, one.id, signal)).gaveUp : undefined;
      return { ...one, deliveries: data, gaveUp };
    }),
  );
}

/** Everything that the overview tells, but the numbers of the last hour. */
export async function readOverview(signal: AbortSignal) {
  const list = (more: object) => orNone(api.deployments.list({ per_page: 20, ...more }, { signal }));
  const isDev = session.value?.mode === "dev";
  const [latest, failed, all, generations, events, upcoming, ...active] = await Promise.all([
    list({ per_page: 6 }),
    list({ status: "failed", per_page: 5 }),
    receivers(signal),
    orNone(api.generations.list({ per_page: 6 }, { signal })),
    orNone(api.events.list({ per_page: 12 }, { signal })),
    isDev ? readUpcoming() : [],
    ...running.map((status) => list({ status })),
  ]);
  const reasons = await Promise.all(failed.data.slice(0, mostReasons).map(({ id }) => reasonOf(id, signal)));
  return {
    latest: latest.data,
    failed: failed.data.map((deployment, i) => ({ deployment, reason: reasons[i] ?? "" })),
    receivers: all,
    generations: generations.data,
    events: events.data,
    upcoming: upcoming.slice(0, 6),
    running: active.flatMap(({ data }) => data),
  };
}
export type Overview = Awaited<ReturnType<typeof readOverview>>;

/** Why a receiver needs somebody: it turned itself off, or it did not accept the latest delivery. */
export function troubleOf({ status, deliveries, gaveUp }: Receiver): string | undefined {
  const last = gaveUp ?? deliveries[0];
  const answer = last?.attempts.at(-1);
  if (!last || !answer || !/pending|abandoned/.test(last.status)) return undefined;
  const text = `the last answer was ${wordOf(answer)}`;
  if (status === "inactive") return gaveUp && `turned itself off; ${text}`;
  return `fails: ${text}${last.status === "pending" ? ", and it is tried again" : ""}`;
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
const host = (name: string) => (URL.canParse(name) ? new URL(name).host : name);

/** What happened lately, newest first: events and the answers of receivers. */
export function lately(
  { events, receivers, generations }: Overview,
  nameOf: (project_id: string) => string,
): readonly Happened[] {
  const tries = receivers.flatMap(({ family, id, name, deliveries }) =>
    deliveries.flatMap(({ id: delivery, event, attempts }) =>
      attempts.map(
        ({ at, status, error }, i): Happened => ({
          at,
          icon: "webhook",
          text: `${host(name)} answered ${status ?? error} to ${event}${i > 0 ? `, try ${i + 1}` : ""}`,
          path: `/${family}/${id}/${delivery}`,
          hue: status !== null && status < 300 ? "good" : "bad",
        }),
      ),
    ),
  );
  const happened = events.map((one): Happened => {
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
    };
  });
  return [...tries, ...happened].sort((a, b) => (a.at < b.at ? 1 : -1)).slice(0, 10);
}
