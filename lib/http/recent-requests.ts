import * as v from "valibot";
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

interface Kept extends RecentRequest {
  readonly seen: number;
  readonly organization_id: string;
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

const isControl = ({ path }: RecentRequest) => path.startsWith("/_svc/");
const hasStatus = ({ status }: RecentRequest, wanted: string) =>
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
  const shown = ({ seen: _, organization_id: __, ...one }: Kept): RecentRequest => one;

  return {
    received(request: RequestContext, bytes: Uint8Array): void {
      if (keepsBodies && bytes.length > 0) received.set(request, bytes);
    },
    add(
      request: RequestContext,
      about: Pick<RecentRequest, "at" | "status" | "duration_ms" | "key_id">,
      outcome: Outcome | undefined,
    ): void {
      const { organization_id = "", user_id = "" } = outcome?.caller ?? {};
      // In mode `start`, nobody may see a call without a valid key.
      if (organization_id === "" && !keepsBodies) return;
      number += 1;
      const { id: request_id, method, path } = request;
      const place = (outcome?.answer.headers["location"] ?? path).slice(0, maxPath);
      const target = place.split(/[/?]/).findLast((part) => anId.test(part)) ?? null;
      const query = request.query();
      const isLong = query.toString().length > maxPath;
      const whole = redact(path.slice(0, maxPath)) + (isLong ? "?…" : redactQuery(query));
      const mine = { number, request_id, method, path: whole, user_id: user_id || null, target };
      const code = codeIn(about.status, outcome?.answer.body);
      added.push({ ...mine, ...about, code, seen: monotonicNow(), organization_id });
      if (added.length >= maxRequests) all();
      // Bodies of the control interface hold mails and whole states.
      if (keepsBodies && !path.startsWith("/_svc/")) keepBodies(request, outcome?.answer);
    },
    /** The newest requests of an organization, newest first; in `dev` also those without a valid key. */
    list(organization_id: string, { search = "", method, status, key_id, calls, before = Infinity }: RecentFilter) {
      const wanted = search.toLowerCase();
      const found = all()
        .filter(isOf(organization_id))
        .filter(
          (one) =>
            one.number < before &&
            (method === undefined || one.method === method) &&
            (status === undefined || hasStatus(one, status)) &&
            (key_id === undefined || one.key_id === key_id) &&
            (calls === undefined || isControl(one) === (calls === "control")) &&
            `${one.path} ${one.request_id} ${one.target} ${one.code}`.toLowerCase().includes(wanted),
        )
        .reverse();
      const data = found.slice(0, perPage).map(shown);
      return { data, next: found.length > perPage ? (data.at(-1)?.number ?? null) : null };
    },
    find(organization_id: string, wanted: number) {
      const one = all().find(({ number }) => number === wanted);
      if (!one || !isOf(organization_id)(one)) return undefined;
      const { body = null, answer = null } = bodies.get(wanted) ?? {};
      const redacted = (of: RecentBody | null) => (of && !of.is_cut ? { ...of, text: redactBody(of.text) } : of);
      return { ...shown(one), has_bodies: bodies.has(wanted), body: redacted(body), answer: redacted(answer) };
    },
  };
}
