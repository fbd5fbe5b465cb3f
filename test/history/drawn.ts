import { allSteps } from "../helpers/all-operations.ts";
import fc from "../helpers/fast-check.ts";
import { called, type Drafted } from "../helpers/fuzz-requests.ts";

/**
 * The entries of a history, drawn from a seed: valid and invalid requests for every operation of the published
 * document, the steps of `helpers/all-operations`, and calls of the control interface.
 */
export type Entry =
  | { readonly kind: "request"; readonly draft: Drafted }
  | { readonly kind: "step"; readonly name: string }
  | { readonly kind: "control"; readonly method: string; readonly path: string; readonly body?: object };

/** Calls do not wait: each call runs alone under a manual clock, so nothing would end its wait. */
const withoutWaiting = (path: string) =>
  path
    .replaceAll(/\b(wait)=[^&]*/g, (whole, name) => (/=0*[1-9]\d?$/.test(whole) ? `${name}=0` : whole))
    .replaceAll(/\bfollow=true\b/g, "follow=false");

const request = called.map(
  ({ path, ...draft }): Entry => ({ kind: "request", draft: { ...draft, path: withoutWaiting(path) } }),
);
/** Left out: this step opens a WebSocket, which has no answer in process. */
const { "events.stream": _, ...answered } = allSteps;
const step = fc.constantFrom(...Object.keys(answered)).map((name): Entry => ({ kind: "step", name }));

const control = (method: string, path: string, body: fc.Arbitrary<object | undefined> = fc.constant(undefined)) =>
  body.map((given): Entry => ({ kind: "control", method, path: `/_svc/${path}`, ...(given && { body: given }) }));
const optional = <T extends object>(fields: { [K in keyof T]: fc.Arbitrary<T[K]> }) =>
  fc.record(fields, { requiredKeys: [] });
const time = fc.constantFrom("0ms", "1ms", "1s", "2s", "5s", "30s");
const long = fc.constantFrom("3m", "11m", "1h", "3h", "25h", "8d");
const outcome = optional({
  result: fc.constantFrom("succeed", "succeed", "fail"),
  at: fc.constantFrom("building", "deploying"),
  message: fc.constantFrom("npm ERR!", "é\u0000\u001b[31m", "x".repeat(300)),
  durations: optional({ queued: time, building: time, deploying: time, in_progress: time }),
  logs: fc.array(
    fc.record({ level: fc.constantFrom("info", "warn", "error"), message: fc.string({ maxLength: 30 }) }),
    {
      maxLength: 3,
    },
  ),
  cost_usd: fc.constantFrom(0, 0.01, 1.25),
});
const match = fc.constantFrom(
  {},
  { environment: "production" },
  { branch: "b?" },
  { repo: "acme/*" },
  { model: "any-*" },
  { prompt: "*a*" },
);
const respond = optional({
  status: fc.constantFrom(400, 429, 500, 503),
  code: fc.constantFrom("unavailable", "made_up"),
  headers: fc.constant({ "retry-after": "1" }),
  drop: fc.constant(true),
});
const responses = fc.array(
  fc.oneof(fc.constantFrom(200, 302, 410, 500, 503), fc.constant({ timeout: true }), fc.constant({ status: 204 })),
  { minLength: 1, maxLength: 8 },
);

/** Control calls with their weights. Without snapshots, reset and forks, since PostgreSQL has none. */
const controls = fc.oneof(
  ...(
    [
      [8, control("POST", "clock/advance", fc.record({ by: time }))],
      [3, control("POST", "clock/advance", fc.record({ by: long }))],
      [2, control("POST", "settle")],
      [1, control("GET", "clock")],
      [1, control("GET", "mail")],
      [1, control("GET", "inbox")],
      [1, control("GET", "journal")],
      [1, control("GET", "scenarios")],
      [2, control("POST", "scenarios", fc.record({ match, outcome, times: fc.constantFrom(1, 2, 5) }))],
      [1, control("POST", "scenarios", fc.record({ next: fc.constantFrom("deployment", "generation"), outcome }))],
      [1, control("POST", "scenarios", fc.constant({ match, outcome: { result: "rolled_back" }, times: 1 }))],
      [1, control("POST", "scenarios", fc.constant({ next: "deployment", outcome: { result: "rolled_back" } }))],
      [1, control("DELETE", "scenarios")],
      [2, control("PUT", "inbox/hook", fc.record({ responses }))],
      [1, control("POST", "faults", fc.record({ respond, nth: fc.constantFrom(1, 3), times: fc.constantFrom(1, 2) }))],
      [1, control("DELETE", "faults")],
      [1, control("POST", "deployments/@deployments/step")],
      [1, control("POST", "generations/@generations/step")],
      [1, control("POST", "deliveries", fc.constant({ deliveries: ["@deliveries"] }))],
    ] as const
  ).map(([weight, arbitrary]) => ({ weight, arbitrary })),
);

/** The same seed gives the same entries. */
export const drawn = (seed: number, calls: number): Entry[] =>
  fc.sample(
    fc.oneof({ weight: 10, arbitrary: request }, { weight: 5, arbitrary: step }, { weight: 4, arbitrary: controls }),
    { seed, numRuns: calls },
  );
