import * as v from "valibot";
import { excerptOf, parseRetryAfter } from "../../drivers/outbound/http-response.ts";
import type { Sent } from "../../drivers/outbound/outbound.ts";
import { requestTimeout_ms, timeoutError } from "../../drivers/outbound/request-timeout.ts";
import { parseNearUrl } from "../../drivers/outbound/target.ts";
import { rulesInForce, textLike, textOf } from "../../kernel/validation.ts";

/** The name of an inbox: one label of a host name, in upper or lower case. */
export const inboxName = v.pipe(
  textLike(
    63,
    /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/i,
    "must have 1 to 63 letters, digits or hyphens, as a part of a host name",
  ),
  v.toLowerCase(),
);

const statusRule = "must be a status from 200 to 599";
const status = v.pipe(
  v.number(statusRule),
  v.integer(statusRule),
  v.minValue(200, statusRule),
  v.maxValue(599, statusRule),
);
const isTrue = v.literal(true, "must be true");
const forms = 'must be a status, {"status", "headers", "body"}, {"timeout": true} or {"drop": true}';

/** A response to one delivery: a status, a full response, silence until the timeout, or a reset connection. */
export const answer = v.union(
  [
    status,
    v.strictObject({
      status,
      headers: v.optional(v.record(textOf(1, 256), textOf(0, 8192), "must be an object")),
      body: v.optional(textOf(0, 65_536)),
    }),
    v.strictObject({ timeout: isTrue }),
    v.strictObject({ drop: isTrue }),
  ],
  forms,
);
export type InboxAnswer = v.InferOutput<typeof answer>;

const maxAnswers = 1000;
/** The next responses of an inbox, in order. */
export const answers = v.pipe(
  v.array(answer, "must be a list"),
  v.maxLength(maxAnswers, `must have at most ${maxAnswers} answers`),
  v.readonly(),
);

const nearRule = () => {
  const { names } = rulesInForce().trusted;
  const where = names.length > 0 ? `on this machine or in ${names.join(", ")}` : "on this machine";
  return `must be an http or https URL ${where}, such as http://localhost:3000/hooks, or null`;
};
/** The receiver that an inbox forwards to, on this machine or in a trusted network; null for none. */
export const forwardTo = v.nullable(
  v.pipe(
    v.string(nearRule),
    v.maxLength(2048, "must have at most 2,048 characters"),
    v.check((text) => parseNearUrl(text, rulesInForce().trusted) !== undefined, nearRule),
  ),
);

/** A scripted response, as the sender sees it. */
export function sentFor(given: InboxAnswer, now: number): Sent {
  const none = { status: null, response: null, duration_ms: 0 };
  if (typeof given === "number") return { ...none, status: given, error: null, response: "" };
  if ("drop" in given) return { ...none, error: "connection reset" };
  if ("timeout" in given) {
    const [duration_ms, error] = [requestTimeout_ms, timeoutError(requestTimeout_ms)];
    return { status: null, response: null, error, duration_ms, open_ms: duration_ms };
  }
  const { status, headers, body = "" } = given;
  const header = Object.entries(headers ?? {}).find(([name]) => name.toLowerCase() === "retry-after")?.[1];
  const response = excerptOf(Buffer.from(body));
  return { status, error: null, response, duration_ms: 0, retry_after_ms: parseRetryAfter(header, now) };
}
