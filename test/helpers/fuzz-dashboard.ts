import fc from "./fast-check.ts";
import { bodyOf, called, type Described, type Drafted, headers, methodLike, typed, visible } from "./fuzz-requests.ts";

/** The same requests below `/dashboard/api`, and requests for dashboard sessions. */

/** On whose behalf the dashboard acts: a session in `start`, a person in `dev`. */
const acting = {
  start: fc.oneof(
    { weight: 8, arbitrary: fc.constant(["Cookie", "@cookies"] as const) },
    { weight: 1, arbitrary: fc.tuple(fc.constant("Cookie"), visible) },
  ),
  dev: fc.oneof(
    { weight: 8, arbitrary: fc.constant(["X-Svc-Person", "@people"] as const) },
    { weight: 1, arbitrary: fc.tuple(fc.constant("X-Svc-Person"), visible) },
  ),
};
const inDashboard = (arbitrary: (mode: Drafted["mode"]) => fc.Arbitrary<Drafted>): fc.Arbitrary<Drafted> =>
  fc
    .constantFrom("dev", "start")
    .chain((mode) =>
      fc
        .tuple(arbitrary(mode), fc.oneof({ weight: 8, arbitrary: acting[mode] }, fc.constant(undefined)))
        .map(([draft, who]) => ({ ...draft, headers: who ? [who, ...draft.headers] : draft.headers })),
    );

const clicked = inDashboard((mode) =>
  (mode === "dev" ? called : called.filter(({ path }) => !/webhooks|integrations/.test(path))).map(
    ({ path, ...draft }) => ({ ...draft, mode, path: path.replace("/v1", "/dashboard/api") }),
  ),
);

const signIn: Described = {
  requestBody: {
    content: {
      "application/json": { schema: { type: "object", properties: {} }, example: { key: "@secrets" } },
    },
  },
};
const sessionPaths = ["", "/people", "/metrics", "/..", "/%2e%2e/live", "?person=@people", "/unknown"];
const session = inDashboard((mode) =>
  fc.constantFrom("GET", "POST", "DELETE").chain((method) =>
    fc
      .record({
        method: methodLike(method),
        path: fc.oneof({ weight: 3, arbitrary: fc.constant("") }, fc.constantFrom(...sessionPaths)),
        key: fc.constant("owner"),
        headers,
        body: bodyOf(method === "POST" ? signIn : {}),
      })
      .map((draft) => ({
        ...{ ...draft, mode, path: `/dashboard/session${draft.path}` },
        headers: typed(draft.headers, draft.body),
      })),
  ),
);

/** Any request. */
export const drafted = fc.oneof(
  { weight: 20, arbitrary: called },
  { weight: 4, arbitrary: clicked },
  { weight: 1, arbitrary: session },
);
