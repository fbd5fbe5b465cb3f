import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { type AddressInfo, createServer as createConnections } from "node:net";
import { type TestContext, test } from "node:test";
import type { LogLine } from "../../lib/drivers/deployment/contract.ts";
import type { Child, Ending } from "../../lib/kernel/node/child-process.ts";
import { type Ports, startApp } from "../../lib/platform/runtime/app-instance.ts";
import type { Unhealthy } from "../../lib/platform/runtime/failure.ts";
import { waitUntilHealthy } from "../../lib/platform/runtime/health.ts";
import { watchPorts } from "../../lib/platform/runtime/listening-ports.ts";
import { freePort } from "../helpers/free-port.ts";
import { mockTime } from "../helpers/mock-time.ts";

const signal = new AbortController().signal;

/** No address of its own, and no path in `svc.json`. */
const anywhere = { url: null, health: null };

/** An app that never ends. The machine's time stands still, and moves only while the health check pauses. */
function running(t: TestContext, step_ms: number): () => undefined {
  mockTime(t, { apis: ["setTimeout", "Date"] });
  return moving(t, step_ms);
}

function moving(t: TestContext, step_ms: number): () => undefined {
  let isOver = false;
  t.after(() => {
    isOver = true;
  });
  return () => {
    // Called after each answer; the pause begins before this turn of the event loop is over.
    setImmediate(() => isOver || t.mock.timers.tick(step_ms));
    return undefined;
  };
}

test("A health check that waits says for what, how long still, and what it saw last", async (t) => {
  const lines: LogLine[] = [];
  const log = (line: LogLine) => void lines.push(line);
  const server = createServer((_, response) => response.writeHead(lines.length > 1 ? 204 : 503).end()).listen(0);
  t.after(() => server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const place = { port, url: null, health: "/up", timeout_ms: 60_000, refusal: "nothing listens" };
  const soon = { ...place, timeout_ms: 1_000 };
  assert.equal(await waitUntilHealthy(soon, running(t, 100), { log, signal }), 204);
  assert.deepEqual(
    lines,
    [1, 1].map((left_s) => ({
      level: "info",
      message: `The health check waits for http://127.0.0.1:${port}/up, ${left_s} s more at most: GET /up answered 503`,
    })),
  );
  // A program that answers soon logs nothing.
  assert.equal(await waitUntilHealthy(place, () => undefined, { log, signal }), 204);
  assert.equal(lines.length, 2);
});

test("A health check that fails says what it saw", async (t) => {
  // The timers do not keep the process alive, so this server does.
  const server = createServer().listen(0);
  t.after(() => server.close());
  const port = await freePort();
  const lines: LogLine[] = [];
  const run = { log: (line: LogLine) => void lines.push(line), signal };
  const nothing = "nothing listens there";
  assert.equal(
    await waitUntilHealthy({ ...anywhere, port, timeout_ms: 100, refusal: nothing }, running(t, 50), run),
    `${nothing}, until deployments.healthTimeout (0.1 s) had passed`,
  );
  assert.ok(lines[0]?.message.endsWith(nothing), String(lines));
});

test("A health check ends a request with more than a hundred interim answers", async (t) => {
  const counts = [5_000, 5_000, 50];
  const server = createConnections((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => {
      const interim = "HTTP/1.1 100 Continue\r\n\r\n".repeat(counts.shift() ?? 0);
      socket.end(`${interim}HTTP/1.1 204 No Content\r\n\r\n`);
    });
  }).listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const place = { ...anywhere, port: (server.address() as AddressInfo).port, timeout_ms: 60_000, refusal: "nothing" };
  assert.equal(await waitUntilHealthy(place, () => undefined, { log: () => {}, signal }), 204);
  assert.deepEqual(counts, []);
});

test("A health check comes as visitors do, and without a path of its own it takes any answer below 500", async (t) => {
  const statuses: Record<string, number> = { "/": 404, "/moved": 302, "/up": 401, "/broken": 500 };
  const asked: IncomingHttpHeaders[] = [];
  const server = createServer(({ url = "", headers }, response) => {
    asked.push(headers);
    response.writeHead(statuses[url] ?? 0).end();
  }).listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const hasEnded = running(t, 30_000);
  const ask = (health: string | null, url: string | null) => {
    const place = { port, url, health, timeout_ms: 60_000, refusal: "nothing" };
    return waitUntilHealthy(place, hasEnded, { log: () => {}, signal });
  };
  assert.equal(await ask(null, "https://shop.example.com"), 404);
  assert.equal(await ask("/moved", "http://production-web.localhost:8080"), 302);
  assert.equal(
    await ask("/up", null),
    "GET /up answered 401, until deployments.healthTimeout (60 s) had passed; health in svc.json must name a path that answers below 400",
  );
  statuses["/"] = 500;
  assert.match(
    String(await ask(null, null)),
    /^GET \/ answered 500, .* below 500; health in svc.json can name another/,
  );
  const seen = asked.map(({ connection: _, "user-agent": by, ...headers }) => headers);
  const from = { "x-forwarded-for": "127.0.0.1", "x-real-ip": "127.0.0.1" };
  const at = (host: string, proto: string, at_port: string) => ({
    ...{ host, ...from, "x-forwarded-host": host, "x-forwarded-proto": proto, "x-forwarded-port": at_port },
  });
  assert.deepEqual(seen.slice(0, 3), [
    at("shop.example.com", "https", "443"),
    at("production-web.localhost:8080", "http", "8080"),
    at(`localhost:${port}`, "http", String(port)),
  ]);
});

/** A program whose starts answer with these statuses in turn; with 0 it ends by itself at once. */
function answering(t: TestContext, ...statuses: number[]) {
  let endLast = (_: Ending) => {};
  const program = {
    ...{ deployment_id: "dep_1", health: null, url: null, healthTimeout_ms: 100, memory_bytes: 1e9 },
    ...{ refusal: () => "nothing listens", onStopped: () => {} },
    start({ port }: { readonly port: number }): Child {
      const status = statuses.shift() ?? 0;
      const server = createServer((_, response) => response.writeHead(status).end());
      t.after(() => server.close());
      let ending: Ending | undefined;
      const ended = new Promise<Ending>((resolve) => {
        endLast = (how) => {
          ending ??= how;
          server.close();
          resolve(ending);
        };
      });
      const end = endLast;
      if (status === 0) end({ code: 3, signal: null });
      else server.listen(port, "127.0.0.1");
      const stop = () => {
        end({ code: null, signal: "SIGTERM" });
        return ended;
      };
      const hasEnded = status === 500 ? moving(t, 100) : () => {};
      return {
        ...{ pid: undefined, ended, stop, kill: () => void stop() },
        get ending() {
          hasEnded();
          return ending;
        },
      };
    },
  };
  return { program, endLast: () => endLast({ code: 3, signal: null }) };
}

test("An app whose port was taken meanwhile gets another one, in whichever words it says so", async (t) => {
  for (const message of [
    "Error: listen EADDRINUSE: address already in use 127.0.0.1:40001",
    "OSError: [Errno 98] Address already in use",
    "Error: That port is already in use.",
    "Web server failed to start. Port 40001 was already in use.",
    "Bind for 127.0.0.1:40001 failed: port is already allocated",
  ]) {
    const { program } = answering(t, 0, 200);
    const ports: number[] = [];
    const start = (given: Ports, take: (line: LogLine) => void) => {
      if (ports.push(given.port) === 1) take({ level: "error", message });
      return program.start(given);
    };
    const instance = await startApp({ ...program, start }, { log: () => {}, signal });
    assert.equal(instance.port, ports[1], message);
    await instance.stop(0);
  }
});

test("A start that fails tells of a crash only if the app ended by itself", async (t) => {
  mockTime(t, { apis: ["setTimeout", "Date"] });
  const crashOf = (status: number) =>
    startApp(answering(t, status).program, { log: () => {}, signal }).then(
      () => assert.fail("it started"),
      ({ crash }: Unhealthy) => crash,
    );
  assert.deepEqual(await crashOf(0), { process: "web", exit_code: 3 });
  assert.equal(await crashOf(500), undefined);
});

test("A restart that the health check ends is no further crash", async (t) => {
  const { program, endLast } = answering(t, 200, 500);
  let hasFailed = () => {};
  const failed = new Promise<void>((resolve) => {
    hasFailed = resolve;
  });
  const explain = () => {
    hasFailed();
    return "";
  };
  const instance = await startApp({ ...program, explain }, { log: () => {}, signal });
  const crashes: unknown[] = [];
  instance.crashes?.((crash) => {
    crashes.push(crash);
    setImmediate(() => t.mock.timers.tick(250));
  });
  mockTime(t, { apis: ["setTimeout", "Date"] });
  endLast();
  await failed;
  await new Promise(setImmediate);
  assert.deepEqual(crashes, [{ process: "web", exit_code: 3 }]);
  await instance.stop(0);
});

test("An app gets a relay only if a second look finds it at ::1 alone too", (t) => {
  mockTime(t, { apis: ["setTimeout", "Date"] });
  const port = 3000;
  const relayed = (...found: readonly boolean[]) => {
    const looks = found.map((isOnlyIpv6) => [{ port, isOnlyIpv6 }]);
    const settings = { listening: () => looks.shift() ?? [], isFixed: false, timeout_ms: 60_000 };
    const look = watchPorts(port, settings, () => {});
    return found.map(() => {
      t.mock.timers.tick(1_000);
      return look() !== undefined;
    });
  };
  assert.deepEqual(relayed(true, false, true), [false, false, false]);
  assert.deepEqual(relayed(true, true), [false, true]);
});
