import assert from "node:assert/strict";
import { test } from "node:test";
import { everyAnswer } from "../../bin/verify/conventions.ts";
import { junitOf } from "../../bin/verify/junit.ts";
import { checks, type Finding, verify } from "../../bin/verify/trial.ts";
import type { Service } from "../../lib/index.ts";
import { withSnapshots } from "../helpers/engine.ts";
import { keyOf } from "../helpers/test-service.ts";
import { type Before, emulator, on, success, trial } from "../helpers/verify-trial.ts";
import { wrongConnections, wrongDeployments } from "../helpers/wrong-deployments.ts";
import { wrongEvents } from "../helpers/wrong-events.ts";
import { wrongRecords } from "../helpers/wrong-records.ts";
import { wrongServers } from "../helpers/wrong-servers.ts";

const differing = (findings: readonly Finding[]) =>
  findings.filter(({ result }) => result === "differs").map(({ chapter, sentence }) => `${chapter}: ${sentence}`);

for (const envelope of ["flat", "full"] as const)
  test(`every sentence that can be tried holds for the service itself, in the form ${envelope}`, async (t) => {
    const findings = await trial(await emulator(t, { envelope }));
    assert.deepEqual(differing(findings), []);
    const untried = findings.filter(({ result }) => result === "untried").map(({ reason }) => reason);
    assert.equal(untried.length, 8, untried.join("; "));
    assert.ok(
      findings.filter(({ result }) => result === "holds").every(({ request_id }) => request_id?.startsWith("req_")),
    );
  });

test("without --write nothing is changed, and what is left out says so", async (t) => {
  const service = await emulator(t);
  const asked = new Set<string>();
  const findings = await trial(
    service,
    (request, serve) => {
      // Counts only requests with the key: a write without a key is always refused.
      if (request.key === keyOf("owner")) asked.add(request.method);
      return serve(request);
    },
    false,
  );
  assert.deepEqual([...asked], ["GET"]);
  assert.deepEqual(differing(findings), []);
  assert.ok(findings.filter(({ reason }) => reason?.includes("--write")).length > 30);
});

test("a trial leaves nothing behind", async (t) => {
  const service = await emulator(t);
  const { projects, webhooks, integrations } = service.client({ apiKey: keyOf("owner") });
  const count = async () => [
    (await projects.list({})).data.length,
    (await webhooks.list({})).data.length,
    (await integrations.list({})).data.length,
  ];
  const before = await count();
  await trial(service);
  assert.deepEqual(await count(), before);

  for (const made of [/^POST \/webhooks$/, /^POST \/projects$/, /^POST \/integrations$/]) {
    const stopping = new AbortController();
    const reason = new Error("Ctrl+C");
    const stopsOnceItHasMade = on(made, () => stopping.abort(reason));
    await assert.rejects(trial(service, stopsOnceItHasMade, true, undefined, stopping.signal), reason);
    assert.deepEqual(await count(), before, String(made));
  }
});

test("a server that runs no images need not take one as a source", async (t) => {
  const noImages = on(/^POST \/deployments$/, (reply, { body }) => {
    if ((body["source"] as { type?: string } | undefined)?.type !== "image") return;
    const details = [{ path: "source.type", message: "must be git: this service runs no images" }];
    success(reply, { error: { code: "validation_failed", message: "no", details }, meta: reply.body.meta }, 422);
  });
  const [found] = await trial(await emulator(t), noImages, true, "An image is a source");
  assert.deepEqual([found?.result, found?.reason], ["untried", "this server runs no images"]);
});

test("a server that answers HTML differs in nearly everything, and ends no trial", async (t) => {
  const page = '<html><body>"Sign in" & go on\u0007</body></html>';
  const html: Before = async () => ({
    status: 200,
    headers: new Headers({ "content-type": "text/html" }),
    text: page,
    body: undefined,
  });
  const findings = await trial(await emulator(t), html);
  assert.ok(findings.every(({ result }) => result !== "holds"));
  const xml = junitOf(findings, "https://svc.example.com");
  assert.match(xml, /<failure message="GET \/projects answered 200: expected 401"\/>/);
  assert.ok(!xml.includes("\u0007"));
});

test("a server that limits the key is not asked for long", async (t) => {
  let requests = 0;
  const headers = new Headers({ "content-type": "application/json", "retry-after": "600" });
  const limited: Before = async () => {
    requests += 1;
    return { status: 429, headers, text: "{}", body: {} };
  };
  const findings = await trial(await emulator(t), limited, false);
  assert.ok(findings.every(({ result, reason }) => result === "untried" && reason !== null));
  assert.ok(requests < 60, `${requests} requests`);
});

test("a server that never answers is asked three times", async () => {
  let requests = 0;
  const pause = async () => {};
  const fetch = (_: string, { signal }: RequestInit) => {
    requests += 1;
    return new Promise<Response>((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
  };
  const findings = await verify({
    base: "http://service.test/v1",
    key: undefined,
    fetch,
    pause,
    write: false,
    timeout_ms: 1,
  });
  assert.equal(requests, 3);
  assert.equal(findings.filter(({ result }) => result === "differs").length, 3);
  assert.ok(findings.every(({ result }) => result !== "holds"));
});

test("each of the wrong servers is found", withSnapshots, async (t) => {
  const all = { ...wrongServers, ...wrongDeployments, ...wrongConnections, ...wrongEvents, ...wrongRecords };
  t.diagnostic(`${Object.keys(all).length} wrong servers`);
  assert.ok(Object.keys(all).length >= 40);
  const found = new Set(Object.values(all).map(([sentence]) => sentence));
  assert.deepEqual(
    checks.filter(({ sentence }) => !found.has(sentence)),
    [],
    "sentences that no wrong server breaks",
  );
  // These sentences check the answers to all other sentences.
  const isAboutAll = new Set(everyAnswer.map(({ sentence }) => sentence));
  const service = await emulator(t);
  const unnoticed: string[] = [];
  for (const [fault, [sentence, before]] of Object.entries(all)) {
    const fork = await service.fork();
    const found = differing(
      await trial(
        fork as unknown as Service<string | null>,
        before,
        true,
        isAboutAll.has(sentence) ? undefined : sentence,
      ),
    );
    await fork.close();
    if (!found.some((one) => one.endsWith(`: ${sentence}`)))
      unnoticed.push(`the server that ${fault}; found: ${found.join("; ")}`);
  }
  assert.deepEqual(unnoticed, []);
});
