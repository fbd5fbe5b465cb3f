import assert from "node:assert/strict";
import { test } from "node:test";
import { assetRoutes } from "../../lib/composition/downloads/asset-downloads.ts";
import { healthRoutes } from "../../lib/composition/health/health-routes.ts";
import { hookRoutes } from "../../lib/composition/hooks/hook-routes.ts";
import { dashboardRoutes } from "../../lib/dashboard/dashboard-routes.ts";
import { lookUpRoutes } from "../../lib/dashboard/look-up-routes.ts";
import { controlCalls } from "../../lib/emulator/control/calls.ts";
import { controlRoutes } from "../../lib/emulator/control/control-routes.ts";
import type { Options } from "../../lib/index.ts";
import { noNetworks } from "../../lib/kernel/trusted-networks.ts";
import { hasSnapshots } from "../helpers/engine.ts";
import { keepAliveClient } from "../helpers/keep-alive-client.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";
import { keyOf } from "../helpers/test-service.ts";

/**
 * The paths beside `/v1`, by CONTRACT sections 5, 6, 8 and 12. `test/dashboard/` has the operations below
 * `/dashboard/api`. Columns: method · path · in `dev`: from a program on this machine · from a page of another origin ·
 * under a known name that is not loopback's · through a proxy that the options do not name · in `start`: from this
 * machine · from behind a proxy without a key · with a viewer's key · with an owner's key.
 */
const table = `
  GET     /healthz                     200 200 200 200  200 200 200 200
  GET     /readyz                      200 200 200 200  200 200 200 200
  GET     /metrics                     200 200 401 401  200 401 403 200
  POST    /hooks/code-host             400 400 400 400  401 401 401 401
  POST    /hooks/code-host/{}          404 404 404 404  404 404 404 404
  GET     /assets/{}                   403 403 403 403  403 403 403 403
  GET     /dashboard                   200 403 404 404  200 200 200 200
  GET     /dashboard/{}                200 403 404 404  200 200 200 200
  GET     /dashboard/assets/{}         404 403 404 404  404 404 404 404
  GET     /dashboard/session           200 403 404 404  401 401 401 401
  POST    /dashboard/session           400 403 404 404  400 400 400 400
  DELETE  /dashboard/session           204 403 404 404  401 401 401 401
  GET     /dashboard/session/metrics   200 403 404 404  401 401 401 401
  GET     /dashboard/session/requests  200 403 404 404  401 401 401 401
  GET     /dashboard/session/requests/{} 404 403 404 404  401 401 401 401
  GET     /dashboard/session/mail/{}   404 403 404 404  200 200 200 200
  GET     /dashboard/session/people    200 403 404 404  200 200 200 200
  GET     /dashboard/session/sources   422 403 404 404  401 401 401 401
  GET     /dashboard/session/ways      200 403 404 404  200 200 200 200
  GET     /_svc/clock                  200 403 404 404  404 404 404 404
  POST    /_svc/clock/advance          422 403 404 404  404 404 404 404
  POST    /_svc/clock/freeze           200 403 404 404  404 404 404 404
  POST    /_svc/clock/run              422 403 404 404  404 404 404 404
  GET     /_svc/upcoming               200 403 404 404  404 404 404 404
  POST    /_svc/preview                422 403 404 404  404 404 404 404
  POST    /_svc/settle                 200 403 404 404  404 404 404 404
  GET     /_svc/snapshots              200 403 404 404  404 404 404 404
  POST    /_svc/snapshots              201 403 404 404  404 404 404 404
  DELETE  /_svc/snapshots/{}           404 403 404 404  404 404 404 404
  POST    /_svc/snapshots/{}/restore   404 403 404 404  404 404 404 404
  GET     /_svc/compare                422 403 404 404  404 404 404 404
  GET     /_svc/forks                  200 403 404 404  404 404 404 404
  POST    /_svc/forks                  201 403 404 404  404 404 404 404
  DELETE  /_svc/forks/{}               404 403 404 404  404 404 404 404
  GET     /_svc/worlds                 200 403 404 404  404 404 404 404
  DELETE  /_svc/worlds/{}              404 403 404 404  404 404 404 404
  POST    /_svc/reset                  200 403 404 404  404 404 404 404
  GET     /_svc/inbox                  200 403 404 404  404 404 404 404
  DELETE  /_svc/inbox                  200 403 404 404  404 404 404 404
  GET     /_svc/inboxes                200 403 404 404  404 404 404 404
  PUT     /_svc/inbox/{}               422 403 404 404  404 404 404 404
  POST    /_svc/deliveries             422 403 404 404  404 404 404 404
  POST    /_svc/deliveries/orders      422 403 404 404  404 404 404 404
  GET     /_svc/mail                   200 403 404 404  404 404 404 404
  DELETE  /_svc/mail                   200 403 404 404  404 404 404 404
  POST    /_svc/invitations/accept     422 403 404 404  404 404 404 404
  GET     /_svc/scenarios              200 403 404 404  404 404 404 404
  POST    /_svc/scenarios              422 403 404 404  404 404 404 404
  DELETE  /_svc/scenarios              200 403 404 404  404 404 404 404
  DELETE  /_svc/scenarios/{}           404 403 404 404  404 404 404 404
  POST    /_svc/deployments/{}/step    404 403 404 404  404 404 404 404
  POST    /_svc/generations/{}/step    404 403 404 404  404 404 404 404
  GET     /_svc/journal                200 403 404 404  404 404 404 404
  GET     /_svc/faults                 200 403 404 404  404 404 404 404
  POST    /_svc/faults                 422 403 404 404  404 404 404 404
  DELETE  /_svc/faults                 200 403 404 404  404 404 404 404
  DELETE  /_svc/faults/{}              404 403 404 404  404 404 404 404
`;
const rows = table
  .trim()
  .split("\n")
  .map((line) => line.trim().split(/ +/))
  .map(([method = "", path = "", ...statuses]) => ({ method, path, statuses: statuses.map(Number) }));

const start: Options = { mode: "start", clock: "real", random: undefined, hosts: ["svc.example.com"] };
const bearer = (key: string) => ["Authorization", `Bearer ${key}`] as const;

/** The columns: a service's options, and the headers of a request. */
const callers: readonly (readonly [Options, readonly (readonly [string, string])[]])[] = [
  [{}, []],
  [{}, [["Origin", "https://evil.example"]]],
  [{ hosts: ["svc.example.com"] }, [["Host", "svc.example.com"]]],
  [{}, [["X-Forwarded-For", "203.0.113.7"]]],
  [start, []],
  [{ ...start, behindProxy: true }, []],
  [{ ...start, behindProxy: true }, [bearer(keyOf("viewer"))]],
  [{ ...start, behindProxy: true }, [bearer(keyOf("owner"))]],
];

test("the table has every path beside /v1, and no other", () => {
  // The routes use these ports only when a request comes; here their declarations are enough.
  const nothing = new Proxy({}, { get: () => ({}) }) as never;
  const routes = [
    ...healthRoutes(nothing),
    ...hookRoutes(nothing),
    ...assetRoutes(nothing),
    ...dashboardRoutes({ mode: "dev", operations: [], access: { authenticator: {} } } as never),
    ...lookUpRoutes({ access: { authenticator: {} }, mails: {} } as never),
    ...controlRoutes({
      ...{ calls: controlCalls, ports: nothing },
      ...{ now: () => "", changed: () => {}, rules: { trusted: noNetworks } },
    }),
  ];
  const names = routes
    .filter(({ method }) => method !== "*" && method !== "UPGRADE")
    .map(({ method, path }) => `${method} ${path.replace("**", "{}").replaceAll(/\{\w+\}/g, "{}")}`);
  assert.deepEqual(names.sort(), rows.map(({ method, path }) => `${method} ${path}`).sort());
});

for (const [column, [settings, headers]] of callers.entries()) {
  test(`paths beside /v1 answer exactly the callers of the table, column ${column + 1}`, async (t) => {
    const here = await listeningWorld(t, { ...settings, addressRateLimit: 0 });
    const client = keepAliveClient(here.port);
    t.after(() => client.close());
    for (const { method, path, statuses } of rows) {
      if (!hasSnapshots && /^\/_svc\/(preview|snapshots|compare|forks|reset)/.test(path)) continue;
      const at = path.replaceAll("{}", "unknown");
      const { status, text } = await client.ask(method, at, { headers });
      assert.equal(status, statuses[column], `${method} ${path}: ${text}`);
      const misdirected = await client.ask(method, at, { headers: [["Host", "evil.example"], ...headers.slice(1)] });
      assert.equal(misdirected.status, 421, `${method} ${path} under a foreign Host`);
      // Below /dashboard every path shows the page.
      for (const tail of path.startsWith("/dashboard") ? [] : ["/", "/..%2f", "%00"]) {
        const beside = await client.ask(method, at + tail, { headers });
        assert.ok(beside.status >= 400 && beside.status < 500, `${method} ${at}${tail}: ${beside.status}`);
      }
    }
    for (const path of ["/", "/v1x", "/_svcx", "/metrics.json", "/.env", "/hooks", "/assets"]) {
      assert.equal((await client.ask("GET", path, { headers })).status, 404, path);
    }
  });
}
