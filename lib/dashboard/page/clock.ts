import { signal } from "@preact/signals";
import { ClientProblem } from "../../client/problem.ts";
import { request } from "./api.ts";
import { setServiceTime, speed } from "./live.ts";

/** The clock as the control interface shows it (`dev`). */
export interface ClockState {
  readonly now: string;
  readonly mode: "real" | "manual" | "scaled";
  readonly speed: number;
  /** Whether a freeze stopped it, so that it can run on. */
  readonly is_frozen: boolean;
}

/** Work that falls due at a time. */
export interface Due {
  readonly at: string;
  readonly kind: string;
  readonly id: string | null;
}

export interface Moved {
  readonly now: string;
  readonly ran: number;
  /** The time before; undefined if the service cannot copy its state. */
  readonly from: string | undefined;
}

/** How far to move the clock. */
export type Target = { readonly by: string } | { readonly to: string };

export async function readClock(): Promise<ClockState> {
  const clock = (await request("GET", "/_svc/clock")) as ClockState;
  speed.value = clock.speed;
  setServiceTime(clock.now);
  return clock;
}
export const readUpcoming = async () => ((await request("GET", "/_svc/upcoming")) as { data: Due[] }).data;
/** Whether a change of the clock by this page is on its way. */
export const isMoving = signal(false);

/** Runs a change of the clock. Another one meanwhile is refused, because it would stop the first halfway. */
async function alone<T>(run: () => Promise<T>): Promise<T> {
  if (isMoving.value) throw new Error("The clock is still moving. Wait until it arrives.");
  isMoving.value = true;
  return run().finally(() => {
    isMoving.value = false;
  });
}

export const freezeClock = () => alone(() => request("POST", "/_svc/clock/freeze"));
export const runClock = () => alone(() => request("POST", "/_svc/clock/run"));

/** A move of the clock by this page, with the snapshot taken just before it. */
export interface Move {
  readonly id: string;
  /** What moved: `+2h`. */
  readonly words: string;
  readonly from: string;
  readonly to: string;
}

const stored = "svc-moves";
/** Limited, because each snapshot holds a whole state. */
const mostMoves = 10;
export const nameOf = (words: string) => `before ${words}`;
/** What the name of a snapshot says about the move after it; undefined if no page took it for a move. */
export const wordsOf = (name: string | null): string | undefined =>
  /^before (\+(?:\d+(?:ms|[smhd]))+|next|idle|redo|\d{4}-\d\d-\d\dT[\d:.]+Z)$/.exec(name ?? "")?.[1];
/** The moves of this tab that can be undone, the latest at the end. */
export const moves = signal<readonly Move[]>(JSON.parse(sessionStorage.getItem(stored) ?? "[]"));
export const keep = (list: readonly Move[]): void => {
  moves.value = list;
  sessionStorage.setItem(stored, JSON.stringify(list));
};
/** What this tab took back. The snapshot of a move goes a moment later. */
export const undone = new Set<string>();
export const forget = async ({ id }: Pick<Move, "id">) => request("DELETE", `/_svc/snapshots/${id}`).catch(() => {});

/** The response; undefined if the service cannot copy its state, for example with a runtime. */
export async function unlessRefused<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ClientProblem && error.code === "limit_reached") return undefined;
    throw error;
  }
}

/** Moves the clock. Takes a snapshot first, if possible, so that the move can be undone. */
export const advance = (target: Target): Promise<Moved> => alone(() => move(target));

export type Stored = { readonly id: string; readonly now: string };
/** Says in the request of a move which snapshot was taken before it. */
export const markOf = ({ id }: Stored) => `${id}-`;
export const takeSnapshot = async (name: string) => (await request("POST", "/_svc/snapshots", { name })) as Stored;

async function move(target: Target): Promise<Moved> {
  const words = "by" in target ? `+${target.by}` : target.to;
  const before = await unlessRefused(takeSnapshot(nameOf(words)));
  try {
    const mark = before && markOf(before);
    const moved = (await request("POST", "/_svc/clock/advance", target, undefined, mark)) as Omit<Moved, "from">;
    setServiceTime(moved.now);
    const all = before ? [...moves.value, { id: before.id, words, from: before.now, to: moved.now }] : [];
    keep(all.slice(-mostMoves));
    await Promise.all(all.slice(0, -mostMoves).map(forget));
    return { ...moved, from: before?.now };
  } catch (error) {
    if (before) await forget(before);
    throw error;
  }
}

const works: Readonly<Record<string, string>> = {
  "deployments.turns": "a deployment starts",
  "deployments.advance": "a deployment goes on",
  "deployments.tell": "the code host learns the state of a commit",
  "previews.end": "a preview may end",
  "deliveries.pump": "a delivery is tried",
  "deliveries.redeliver": "a delivery is sent again",
  "deliveries.end": "a delivery times out",
  "generations.turn": "a generation starts",
  "generations.advance": "a generation goes on",
  "generations.cancel": "a generation is cancelled",
  "endpoints.clear": "deliveries of a removed endpoint are deleted",
  "projects.clear": "a removed project is deleted",
};
/** A job as text for the user. */
export const workOf = ({ kind }: Due): string => works[kind] ?? kind;

/** The path of a record's page; undefined if it has none. */
export function pageOf(id: string | null): string | undefined {
  const [prefix = ""] = (id ?? "").split("_");
  const lists: Readonly<Record<string, string>> = { usr: "/people", inv: "/people", key: "/keys", evt: "/events" };
  const folders: Readonly<Record<string, string>> = {
    dep: "deployments",
    gen: "generations",
    wh: "webhooks",
    int: "integrations",
    proj: "projects",
  };
  const folder = folders[prefix];
  return folder ? `/${folder}/${id}` : lists[prefix];
}
