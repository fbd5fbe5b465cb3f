import type { Delivery } from "../../client/generated/records.ts";
import { api, orNone } from "./api.ts";
import { Action } from "./controls.tsx";
import { countOf, instantOf } from "./format-time.ts";
import { useRead } from "./live.ts";
import { refusal } from "./permissions.ts";
import { href } from "./router.ts";
import { Text, Time } from "./ui.tsx";

/** The kinds of endpoints that get deliveries. */
export type Family = "webhooks" | "integrations";

export interface Endpoint {
  readonly id: string;
  readonly status: "active" | "inactive";
}

/** An endpoint that gets deliveries, by what people call it. */
export interface Receiver extends Endpoint {
  readonly family: Family;
  readonly name: string;
}

/** All receivers, as far as this person may read them. */
export async function readReceivers(signal: AbortSignal): Promise<readonly Receiver[]> {
  const [webhooks, integrations] = await Promise.all([
    orNone(api.webhooks.list({}, { signal })),
    orNone(api.integrations.list({}, { signal })),
  ]);
  return [
    ...webhooks.data.map(({ id, status, url }) => ({ family: "webhooks" as const, id, status, name: url })),
    ...integrations.data.flatMap(({ id, status, name, type }) =>
      type === "code_host" ? [] : [{ family: "integrations" as const, id, status, name }],
    ),
  ];
}

/** The host of a receiver with a URL; the name of another. */
export const hostOf = (name: string): string => (URL.canParse(name) ? new URL(name).host : name);

type Attempt = Delivery["attempts"][number];

/** How many receivers of a list show their health, each by this many of its latest deliveries. */
const mostReceivers = 50;
const latest = 50;

export const isGood = ({ status }: Pick<Attempt, "status">): boolean =>
  status !== null && status >= 200 && status < 300;
export const wordOf = ({ status, error }: Pick<Attempt, "status" | "error">): string => String(status ?? error);

interface Health {
  /** The share of attempts that were accepted; undefined before the first. */
  readonly rate: number | undefined;
  readonly last: Attempt | undefined;
  /** The delivery that turned the receiver off, and how many were skipped since. */
  readonly gaveUp: Delivery | undefined;
  readonly skipped: number;
  /** When the oldest delivery that did not arrive was made. */
  readonly since: string | undefined;
}

/** Reads the health of a receiver from its deliveries, newest first. */
function healthOf(deliveries: readonly Delivery[]): Health {
  // Oldest first: under a clock that stands, many have one time.
  const attempts = [...deliveries]
    .reverse()
    .flatMap((one) => one.attempts)
    .sort((a, b) => a.at.localeCompare(b.at));
  const last = attempts.at(-1);
  const endOf = (one: Delivery) => one.attempts.at(-1)?.at ?? "";
  const lastGood = attempts.findLast(isGood)?.at ?? "";
  const missing = deliveries.filter(({ status }) => status === "abandoned" || status === "skipped");
  // The first to be given up since the last success: another success would have kept the receiver on.
  const gaveUp = missing
    .filter((one) => one.status === "abandoned" && endOf(one) > lastGood)
    .sort((a, b) => endOf(a).localeCompare(endOf(b)))[0];
  return {
    rate: attempts.length === 0 ? undefined : attempts.filter(isGood).length / attempts.length,
    last,
    gaveUp,
    skipped: missing.filter(({ status }) => status === "skipped").length,
    since: missing.at(-1)?.created_at,
  };
}

/** The health of receivers by id. */
export function useHealth(family: Family, ids: readonly string[]): ReadonlyMap<string, Health> {
  const { data } = useRead(
    `health ${family} ${ids.join()}`,
    async (signal) => {
      const read = async (id: string) => {
        const { data } = await api[family].deliveries({ id, per_page: latest }, { signal });
        return [id, healthOf(data)] as const;
      };
      return new Map(await Promise.all(ids.slice(0, mostReceivers).map(read)));
    },
    ({ kind }) => kind === "delivery" || kind === "event" || kind === "record",
  );
  return data ?? new Map();
}

/** Whether a receiver fails now, or has accepted less than half of its latest tries. */
export const isFailing = (of: Health | undefined): boolean =>
  of?.last !== undefined && (!isGood(of.last) || (of.rate ?? 1) < 0.5);

export function Rate({ of }: { of: Health | undefined }) {
  if (of?.rate === undefined) return <span class="hint">{of && "nothing sent yet"}</span>;
  const percent = Math.floor(of.rate * 100);
  const hue = percent === 100 ? "good" : isFailing(of) ? "bad" : undefined;
  return <span class={hue}>{percent} %</span>;
}

export const LastAnswer = ({ of }: { of: Health | undefined }) =>
  of?.last ? (
    <>
      <span class={isGood(of.last) ? "good" : "bad"}>
        <Text of={wordOf(of.last)} />
      </span>{" "}
      <Time at={of.last.at} />
    </>
  ) : null;

/** How far to look back for the delivery that turned a receiver off. */
const mostRead = 5_000;

/** Reads deliveries, newest first, until one arrived: what turned the receiver off came after it. */
export async function sinceSuccess(family: Family, id: string, signal: AbortSignal): Promise<Health> {
  const all: Delivery[] = [];
  let cursor: string | null = null;
  do {
    const place: object = cursor === null ? {} : { cursor };
    const page = await api[family].deliveries({ id, per_page: 100, ...place }, { signal });
    all.push(...page.data);
    cursor = page.meta.next_cursor;
  } while (cursor !== null && all.length < mostRead && !all.some(({ status }) => status === "succeeded"));
  return healthOf(all);
}

/** Why a receiver is off, and the way back. */
export function TurnedOff({ family, of: { id, status } }: { family: Family; of: Endpoint }) {
  const { data: health } = useRead(
    `turned off ${family} ${id} ${status}`,
    async (signal) => (status === "inactive" ? sinceSuccess(family, id, signal) : undefined),
    ({ kind }) => kind === "delivery" || kind === "record",
  );
  if (status === "active" || !health) return null;
  const { gaveUp, skipped, since = "" } = health;
  const end = gaveUp?.attempts.at(-1);
  if (!gaveUp || !end) return <p class="hint">Somebody turned it off. Events are kept as skipped deliveries.</p>;
  const run = async () => {
    await api[family].update({ id, status: "active" });
    await api[family].recover({ id, since });
  };
  return (
    <div class="reason">
      <p>
        <strong>The service turned it off</strong> <Time at={end.at} />, {instantOf(end.at)} UTC:{" "}
        <span class="mono">{gaveUp.event}</span> was tried {countOf(gaveUp.attempts.length, "time")} and never accepted
        (<a href={href(`/${family}/${id}/${gaveUp.id}`)}>the delivery</a>).
      </p>
      <p>
        It answered{" "}
        <span class="mono bad">
          <Text of={gaveUp.attempts.map(wordOf).join(", ").slice(0, 300)} />
        </span>
        .{skipped > 0 && ` ${countOf(skipped, "event")} since then: not sent.`}
      </p>
      <p class="row">
        <Action kind="main" reason={refusal(`${family}:write`)} run={run}>
          Turn on and recover
        </Action>
        <span class="hint">
          Repair the receiver first. What did not arrive is sent again; Turn on alone sends only what comes next.
        </span>
      </p>
    </div>
  );
}
