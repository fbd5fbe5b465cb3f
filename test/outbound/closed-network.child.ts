import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Seed } from "../../lib/index.ts";
import { startCanaries, takeAllAddresses } from "../helpers/closed-network.ts";
import { jsonBearer } from "../helpers/headers.ts";
import { alwaysClosed, notPublic } from "../helpers/hostile-urls.ts";
import { moving, opened, public4, public6, recordsOf, steady } from "../helpers/moving-names.ts";
import { pixel } from "../helpers/openai-backend.ts";
import { launch, temporaryFolder } from "../helpers/program.ts";
import { isLong } from "../helpers/properties.ts";

/*
 * Runs in its own namespaces (`closed-network.test.ts`). Every address leads to canaries that count connections.
 * `public4` and `public6` are the control, and the operator allows `opened`; nothing else may be reached.
 */

/** Leaves out names whose records no name server can send. */
const hostile = notPublic
  .filter((url) => !/^https:..(zone|garbage)\.example/.test(url))
  .map((url) => url.replace("<port>", "8443"));
const locations = [...hostile, ...alwaysClosed, ...hostile.map((url) => url.replace(/^https:/i, "http:"))];
/** Download origins that the operator names, and whose names lead to closed addresses. */
const downloads = ["http://metadata.google.internal", "http://both-4.test:8080", "http://flip-4.test:8080"];
const files = [...downloads.map((origin) => `${origin}/file`), ...locations];

/** Returns the entries in turn. Header values carry non-ASCII characters as bytes of UTF-8. */
function inTurn(list: readonly string[]) {
  let taken = 0;
  return () =>
    Buffer.from(list[taken++ % list.length] ?? "")
      .toString("latin1")
      .replace(/[\t\n]/g, "");
}

const inHundreds = <T>(list: readonly T[]) =>
  Array.from({ length: Math.ceil(list.length / 100) }, (_, i) => list.slice(100 * i, 100 * (i + 1)));

type Organization = Partial<Seed["organizations"][number]>;
const withWebhooks = (urls: readonly string[]): Organization[] =>
  inHundreds(urls).map((list) => ({ webhooks: list.map((url) => ({ url, events: ["*"], secret: "a secret" })) }));
const withIntegrations = (list: NonNullable<Organization["integrations"]>): Organization[] =>
  inHundreds(list).map((integrations) => ({ integrations }));

const redirects = [300, 301, 302, 303, 307, 308].map((status) => `https://redirect.test:8443/redirect/${status}`);
const codeHost = { repo: "acme/web", branch: "main", environment: "production", secret: "a secret of a code host" };
/** An organization may have at most a hundred webhooks and a hundred integrations. */
const groups = {
  control: withWebhooks([
    "https://good.test:8443/",
    `https://${public4}/`,
    `https://[${public6}]/`,
    "https://opened.test/",
  ]),
  webhooks: withWebhooks(hostile),
  integrations: withIntegrations([
    ...hostile.map((webhook_url) => ({ type: "chat" as const, config: { webhook_url } })),
    ...hostile.map((url) => ({ type: "custom" as const, config: { url } })),
  ]),
  caller: withWebhooks(["https://good.test:8443/"]),
  moving: withWebhooks(moving.map((name) => `https://${name}:8443/`)),
  sites: withIntegrations(moving.map((site) => ({ type: "monitoring", config: { api_key: "k", site } }))),
  redirects: withWebhooks(redirects),
  codeHost: withIntegrations([{ type: "code_host", config: codeHost }]),
};
type Group = keyof typeof groups;

async function startService(t: TestContext) {
  const folder = temporaryFolder(t);
  const organizations = Object.entries(groups).flatMap(([group, list]) =>
    list.map((more, at) => ({
      name: `${group} ${at}`,
      plan: "pro",
      users: [
        { name: "owner", email: "owner@acme.test", role: "owner", keys: [{ key: `sk_live_demo_${group}_${at}` }] },
      ],
      ...more,
    })),
  );
  const models = { "flux-dev": {} };
  const url = "http://backend.test:8080/v1";
  const backends = {
    mine: { type: "openai", url, models, downloads },
    moved: { type: "openai", url: "http://metadata.example:8080/v1", models: { "flux-pro": {} } },
  };
  const options = { outbound: { allow: ["10.77.0.0/16"] }, generations: { backends } };
  writeFileSync(join(folder, "seed.json"), JSON.stringify({ organizations }));
  writeFileSync(join(folder, "config.json"), JSON.stringify({ rateLimit: 0, addressRateLimit: 0, ...options }));
  const words = ["start", "--port", "0", "--database", "svc.db", "--seed", "seed.json", "--config", "config.json"];
  const server = await launch(t, words, folder);
  const call = async (group: Group, at: number, method: string, path: string, body?: object) => {
    const headers = jsonBearer(`sk_live_demo_${group}_${at}`);
    const sent = { method, headers, ...(body && { body: JSON.stringify(body) }) };
    const response = await fetch(`${server.url}/v1${path}`, sent);
    // biome-ignore lint/suspicious/noExplicitAny: a test may assert any field of a response
    return { status: response.status, body: (await response.json()) as any };
  };
  return { ...server, call };
}

type Server = Awaited<ReturnType<typeof startService>>;

/** The number of delivery tries that have ended. */
async function triesOf({ url }: Server) {
  const text = await (await fetch(`${url}/metrics`)).text();
  const ended = (outcome: string) =>
    Number(new RegExp(`^svc_delivery_tries_total\\{outcome="${outcome}"\\} (\\d+)$`, "m").exec(text)?.[1]);
  return { succeeded: ended("succeeded"), failed: ended("failed") };
}

/** Runs `act`, which makes deliveries; resolves when this many tries have ended. The number of polls is bounded. */
async function ended(server: Server, count: number, act: () => Promise<unknown>) {
  const before = await triesOf(server);
  await act();
  for (let look = 0; look < 5_000; look++) {
    const now = await triesOf(server);
    const [succeeded, failed] = [now.succeeded - before.succeeded, now.failed - before.failed];
    if (succeeded + failed >= count) return { succeeded, failed };
  }
  return assert.fail(`fewer than ${count} tries ended`);
}

/** Causes an event in each organization of a group. */
const event =
  ({ call }: Server, group: Group) =>
  () =>
    Promise.all(groups[group].map((_, at) => call(group, at, "POST", "/projects", { name: "web", region: "eu" })));

/** Sends a test delivery to each endpoint of a group. */
const ping =
  ({ call }: Server, group: Group) =>
  () =>
    Promise.all(
      groups[group].map(async (_, at) => {
        const { data } = (await call(group, at, "GET", "/webhooks?per_page=100")).body;
        await Promise.all(data.map(({ id }: { id: string }) => call(group, at, "POST", `/webhooks/${id}/test`)));
      }),
    );

test("The service sends to public addresses, and to no other", async (t) => {
  const folder = await takeAllAddresses(recordsOf);
  const [nextLocation, nextFile] = [inTurn(locations), inTurn(["/file", ...files])];
  const { seen, authority } = await startCanaries([...steady, ...moving], (request, response) => {
    request.resume();
    const status = Number(/^\/redirect\/(\d+)/.exec(request.url ?? "")?.[1] ?? 200);
    if (status !== 200) return response.writeHead(status, { location: nextLocation() }).end();
    if (request.url === "/v1/images/generations") return response.end(JSON.stringify({ data: [{ url: nextFile() }] }));
    // A download origin that moves may be reached at its public address, but there is no picture.
    const isPicture = request.url === "/file" && request.headers.host === "backend.test:8080";
    response.end(isPicture ? pixel : "fine");
  });
  const file = join(folder, "authority.pem");
  writeFileSync(file, authority.cert);
  process.env["NODE_EXTRA_CA_CERTS"] = file;
  const server = await startService(t);
  const { call } = server;
  const isClean = () =>
    assert.deepEqual(
      [...seen.keys()].filter((address) => ![public4, public6, opened].includes(address)),
      [],
    );

  await t.test("the control: connections to public addresses and to an opened one are counted", async () => {
    const { succeeded } = await ended(server, 4, event(server, "control"));
    assert.ok(succeeded >= 1, "the canaries answered nothing");
    assert.deepEqual([...seen.keys()].sort(), [opened, public6, public4].sort());
  });

  await t.test("a stored URL of any spelling is not sent to, as webhook, chat or custom integration", async () => {
    assert.ok(hostile.length >= 300, `${hostile.length} URLs`);
    assert.equal((await ended(server, hostile.length, event(server, "webhooks"))).succeeded, 0);
    assert.equal((await ended(server, 2 * hostile.length, event(server, "integrations"))).succeeded, 0);
    const { data } = (await call("webhooks", 0, "GET", "/webhooks?per_page=10")).body;
    for (const { id } of data) {
      const [delivery] = (await call("webhooks", 0, "GET", `/webhooks/${id}/deliveries`)).body.data;
      const [{ error, response }] = delivery.attempts;
      assert.deepEqual([error, response], ["address_not_allowed", null]);
    }
    isClean();
  });

  await t.test("no caller can store such a URL, and the error does not say what answers there", async () => {
    const { id } = (await call("caller", 0, "GET", "/webhooks")).body.data[0];
    const ways = (url: string) => [
      () => call("caller", 0, "POST", "/webhooks", { url, events: ["*"] }),
      () => call("caller", 0, "PATCH", `/webhooks/${id}`, { url }),
      () => call("caller", 0, "POST", "/integrations", { type: "chat", config: { webhook_url: url } }),
      () => call("caller", 0, "POST", "/integrations", { type: "custom", config: { url } }),
    ];
    const answers = await Promise.all(
      hostile.flatMap((url, at) =>
        ways(url)
          .filter((_, way) => isLong || way === at % 4)
          .map((send) => send()),
      ),
    );
    for (const { status, body } of answers) assert.equal(status, 422, JSON.stringify(body));
    assert.equal(new Set(answers.map(({ body }) => body.error.details[0].message)).size, 1);
    isClean();
  });

  await t.test("a name that moves between addresses is reached at its public ones alone", async () => {
    const before = seen.get(public4) ?? 0;
    for (let round = 0; round < (isLong ? 20 : 3); round++) await ended(server, moving.length, ping(server, "moving"));
    await ended(server, moving.length, event(server, "sites"));
    assert.ok((seen.get(public4) ?? 0) > before, "no name was reached at its public address");
    isClean();
  });

  await t.test("a redirect is not followed, wherever it leads", async () => {
    const rounds = Math.ceil(locations.length / redirects.length / (isLong ? 1 : 3));
    const all = async () => {
      for (let round = 0; round < rounds; round++) await ping(server, "redirects")();
    };
    assert.equal((await ended(server, rounds * redirects.length, all)).succeeded, 0);
    isClean();
  });

  await t.test("a backend leads to no file elsewhere, and its download origins to no closed address", async () => {
    const run = async (model: string) => {
      const { body } = await call("caller", 0, "POST", "/generations", { model, prompt: "a hill" });
      return (await call("caller", 0, "GET", `/generations/${body.id}?wait=30`)).body;
    };
    assert.equal((await run("flux-dev")).status, "completed", "the control: a file of the backend itself");
    const count = isLong ? files.length : 60;
    for (const { status, error } of await Promise.all(Array.from({ length: count }, () => run("flux-dev"))))
      assert.deepEqual([status, error?.code], ["failed", "backend_failed"]);
    assert.equal((await run("flux-pro")).status, "failed");
    isClean();
  });

  await t.test("an image and a repository are not fetched", async () => {
    const project_id = (await call("codeHost", 0, "POST", "/projects", { name: "web", region: "eu" })).body.id;
    const images = ["169.254.169.254/app:1", "10.1.2.3:8443/app:1", "[::1]:8443/app:1", "localhost:8443/app:1"];
    const repositories = ["http://10.1.2.3/a.git", "10.1.2.3/web", "git@10.1.2.3:a/b", "ext::sh -c id"];
    for (const source of [
      ...images.map((image_url) => ({ type: "image", image_url })),
      ...repositories.map((repo) => ({ type: "git", repo, branch: "main" })),
    ])
      await call("codeHost", 0, "POST", "/deployments", { project_id, environment: "production", source });
    isClean();
  });
});
