import * as v from "valibot";
import { isoOf } from "../kernel/clock.ts";
import { monotonicNow } from "../kernel/node/system.ts";
import { redact, redactBody, redactQuery } from "../kernel/secrets/secret-redaction.ts";
import { milliseconds } from "../kernel/text/duration.ts";
import { oneOf, record, text } from "../kernel/validation.ts";
import type { Outcome } from "./handler.ts";
import type { RequestContext } from "./request-context.ts";

/** A finished request, as the dashboard lists it. */
export interface RecentRequest {
  /** The number of the request in this process. Unlike a request id, it is unique. */
  readonly number: number;
  readonly at: string;
  readonly request_id: string;
  readonly method: string;
  /** With its query, without secrets. */
  readonly path: string;
  /** Null if the connection broke off before an answer. */
  readonly status: number | null;
  /** By the machine's clock. */
  readonly duration_ms: number;
  readonly key_id: string | null;
  readonly user_id: string | null;
  /** The code of the error that it got; null without one. */
  readonly code: string | null;
  /** The id of the record that it created or names; null without one. */
  readonly target: string | null;
}

/** A body without secrets; null if there was none, or if it was a stream or a file. */
export interface RecentBody {
  readonly text: string;
  readonly is_cut: boolean;
}

/** The filters of the dashboard's list. */
export const recentFilter = record({
  search: v.optional(text()),
  method: v.optional(text()),
  /** The first digit of the status; `error` is every status from 400, and a connection that broke off. */
  status: v.optional(oneOf(["2", "3", "4", "5", "error"])),
  key_id: v.optional(text()),
  /** Those of `/v1` and beside it, or those of the control interface. */
  calls: v.optional(oneOf(["api", "control"])),
  /** Only requests with a smaller number. */
  before: v.optional(v.pipe(text(), v.regex(/^\d{1,15}$/, "must be a number"), v.transform(Number))),
});
type RecentFilter = v.InferOutput<typeof recentFilter>;

/** A request as it came. Its texts are redacted when somebody looks: most are never looked at. */
interface Kept {
  readonly number: number;
  readonly request_id: string;
  readonly method: string;
  readonly path: string;
  /** Undefined if it was too long. */
  readonly search: string | undefined;
  readonly location: string | undefined;
  readonly start: number;
  readonly status: number | null;
  readonly duration_ms: number;
  readonly organization_id: string;
  readonly user_id: string | null;
  readonly key_id: string | null;
  readonly code: string | null;
  readonly seen: number;
  shown: RecentRequest | undefined;
}
interface Bodies {
  readonly body: RecentBody | null;
  readonly answer: RecentBody | null;
  readonly size: number;
}

const hour_ms = milliseconds("1h");
const maxRequests = 10_000;
const perPage = 100;
const maxBody = 64 * 1024;
/** The size of all kept bodies together. Beyond it, the oldest are dropped. */
const maxBodies = 32 * 1024 * 1024;

const anId = /^[a-z]+_[0-9A-Za-z]+$/;
/** Longer paths and queries are cut: redaction reads each several times, and thousands are kept. */
const maxPath = 1_000;
/** A short text as it is; the beginning of a longer one as a copy, because a slice would keep the whole in memory. */
const cut = (text: string, isLong: boolean) => (isLong ? Buffer.from(text.slice(0, maxPath)).toString() : text);

/** Copies the body: a slice would keep the whole buffer in memory. Redacts before cutting, while it is whole JSON. */
function bodyOf(whole: Uint8Array | string | null | undefined): RecentBody | null {
  if (whole === null || whole === undefined || whole.length === 0) return null;
  const bytes = Buffer.from(whole as string);
  if (bytes.length <= maxBody) return { text: bytes.toString(), is_cut: false };
  return { text: Buffer.from(redactBody(bytes.toString())).toString("utf8", 0, maxBody), is_cut: true };
}

/** The code in the answer of an error, which is short and begins with it. */
const codeIn = (status: number | null, body: unknown): string | null =>
  status === null || status < 400 || typeof body !== "string"
    ? null
    : (/^\s*\{\s*"error"\s*:\s*\{\s*"code"\s*:\s*"(\w{1,64})"/.exec(body.slice(0, 200))?.[1] ?? null);

/** The request as it may be shown. */
function shownOf(kept: Kept): RecentRequest {
  const { number, request_id, method, path, search, location, start, status, duration_ms, user_id, key_id, code } =
    kept;
  if (kept.shown) return kept.shown;
  const target = (location ?? path).split(/[/?]/).findLast((part) => anId.test(part)) ?? null;
  const query = search === undefined ? "?…" : redactQuery(new URLSearchParams(search));
  const about = { number, at: isoOf(start), request_id, method, path: redact(path) + query };
  const shown = { ...about, status, duration_ms, key_id, user_id, code, target };
  kept.shown = shown;
  return shown;
}

const isControl = ({ path }: Kept) => path.startsWith("/_svc/");
const hasStatus = ({ status }: Kept, wanted: string) =>
  wanted === "error" ? status === null || status >= 400 : String(status)[0] === wanted;

export type RecentRequests = ReturnType<typeof createRecentRequests>;

/** The requests of the last hour of the machine's time, in memory only. With `keepsBodies`, also their bodies. */
export function createRecentRequests({ keepsBodies }: { readonly keepsBodies: boolean }) {
  let number = 0;
  let requests: readonly Kept[] = [];
  const added: Kept[] = [];
  const received = new WeakMap<RequestContext, Uint8Array>();
  const bodies = new Map<number, Bodies>();
  let size = 0;

  /** Bodies that are not cut are redacted when they are read. */
  const keepBodies = (request: RequestContext, answer: Outcome["answer"] | undefined) => {
    const text = typeof answer?.body === "string" ? answer.body : null;
    const pair = { body: bodyOf(received.get(request)), answer: bodyOf(text) };
    const own = (pair.body?.text.length ?? 0) + (pair.answer?.text.length ?? 0);
    bodies.set(number, { ...pair, size: own });
    size += own;
    for (const [oldest, { size: freed }] of bodies) {
      if (size <= maxBodies && bodies.size <= maxRequests) break;
      bodies.delete(oldest);
      size -= freed;
    }
  };
  const all = () => {
    const since = monotonicNow() - hour_ms;
    requests = [...requests, ...added.splice(0)].slice(-maxRequests).filter(({ seen }) => seen >= since);
    return requests;
  };
  const isOf = (organization_id: string) => (one: Kept) =>
    one.organization_id === organization_id || (keepsBodies && one.organization_id === "");

  return {
    received(request: RequestContext, bytes: Uint8Array): void {
      if (keepsBodies && bytes.length > 0) received.set(request, bytes);
    },
    add(
      request: RequestContext,
      about: Pick<Kept, "start" | "status" | "duration_ms" | "key_id">,
      outcome: Outcome | undefined,
    ): void {
      const { organization_id = "", user_id = "" } = outcome?.caller ?? {};
      // In mode `start`, nobody may see a call without a valid key.
      if (organization_id === "" && !keepsBodies) return;
      number += 1;
      const { id: request_id, method, path } = request;
      const search = request.search();
      const isLong = path.length > maxPath || search.length > maxPath;
      added.push({
        number,
        request_id,
        method,
        path: cut(path, isLong),
        search: search.length > maxPath ? undefined : cut(search, isLong),
        location: outcome?.answer.headers["location"],
        ...about,
        organization_id,
        user_id: user_id || null,
        code: codeIn(about.status, outcome?.answer.body),
        seen: monotonicNow(),
        shown: undefined,
      });
      if (added.length >= maxRequests) all();
      // Bodies of the control interface hold mails and whole states.
      if (keepsBodies && !path.startsWith("/_svc/")) keepBodies(request, outcome?.answer);
    },
    /** The newest requests of an organization, newest first; in `dev` also those without a valid key. */
    list(organization_id: string, { search = "", method, status, key_id, calls, before = Infinity }: RecentFilter) {
      const wanted = search.toLowerCase();
      const isWanted = (one: Kept) => {
        if (wanted === "") return true;
        const { path, request_id, target, code } = shownOf(one);
        return `${path} ${request_id} ${target} ${code}`.toLowerCase().includes(wanted);
      };
      const found = all()
        .filter(isOf(organization_id))
        .filter(
          (one) =>
            one.number < before &&
            (method === undefined || one.method === method) &&
            (status === undefined || hasStatus(one, status)) &&
            (key_id === undefined || one.key_id === key_id) &&
            (calls === undefined || isControl(one) === (calls === "control")) &&
            isWanted(one),
        )
        .reverse();
      const data = found.slice(0, perPage).map(shownOf);
      return { data, next: found.length > perPage ? (data.at(-1)?.number ?? null) : null };
    },
    find(organization_id: string, wanted: number) {
      const one = all().find(({ number }) => number === wanted);
      if (!one || !isOf(organization_id)(one)) return undefined;
      const { body = null, answer = null } = bodies.get(wanted) ?? {};
      const redacted = (of: RecentBody | null) => (of && !of.is_cut ? { ...of, text: redactBody(of.text) } : of);
      return { ...shownOf(one), has_bodies: bodies.has(wanted), body: redacted(body), answer: redacted(answer) };
    },
  };
}
