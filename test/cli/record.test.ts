import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readFileSync, watch, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { parseSeed } from "../../lib/config/seed.ts";
import { createService, type Service } from "../../lib/index.ts";
import { foundIn, word } from "../helpers/canaries.ts";
import { runHere } from "../helpers/cli-in-process.ts";
import { bearer, jsonBearer } from "../helpers/headers.ts";
import { launch, temporaryFolder } from "../helpers/program.ts";

// biome-ignore lint/suspicious/noExplicitAny: a test may assert any field of an answer
const json = (response: Response): Promise<any> => response.json();

const secrets: Record<string, string> = {
  "the caller's key": `sk_live_${word()}`,
  "another member's key": `sk_live_${word()}`,
  "a secret variable": word(),
  "a variable that is named like a secret": word(),
  "the secret of a webhook": word(),
  "the path of a webhook": word(),
  "the header of a webhook": word(),
  "the path of a chat": word(),
  "the key of a monitoring provider": word(),
  "the secret of a custom integration": word(),
  "the secret of a code host": word(),
  "an address": "ada.o'lovelace@real-company.com",
  "the beginning of an address": "ada.o'",
  "a name": "Ada Lovelace",
};
const secretOf = (name: string) => secrets[name] ?? assert.fail(name);

const member = (name: string, email: string, role: "owner" | "developer", key: string) => ({
  ...{ name, email, role },
  keys: [{ name: "main", key }],
});

/** The account to record: a service with a manual clock, on a port. */
async function account(t: TestContext): Promise<{ service: Service<string | null>; url: string }> {
  const users = [
    member(secretOf("a name"), secretOf("an address"), "owner", secretOf("the caller's key")),
    member("Grace Hopper", "grace@real-company.com", "developer", secretOf("another member's key")),
  ];
  const seed = { organizations: [{ name: "acme", plan: "pro" as const, users }] };
  const service = await createService({ clock: "manual", seed });
  t.after(() => service.close());
  return { service, url: (await service.listen({ port: 0 })).url };
}

const source = { type: "git", repo: "acme/web", branch: "main" };

/** A team's work at its real service, through the recorder. */
async function work(service: Service<string | null>, base: string) {
  const key = secretOf("the caller's key");
  const call = async (method: string, path: string, body?: unknown) => {
    const sent =
      body === undefined ? { headers: bearer(key) } : { headers: jsonBearer(key), body: JSON.stringify(body) };
    const response = await fetch(base + path, { method, ...sent });
    assert.ok(response.ok, `${method} ${path}: ${response.status}`);
    return response.status === 204 ? undefined : json(response);
  };
  await call("GET", "/me");
  await call("GET", "/users");
  const description = `Ask ${secretOf("an address")} for the password: ${secretOf("a variable that is named like a secret")}`;
  const { id: project_id } = await call("POST", "/projects", { name: "web", region: "eu-west-1", description });
  const { id: gone } = await call("POST", "/projects", { name: "gone", region: "eu-west-1" });
  await call("DELETE", `/projects/${gone}`);
  const { id: old } = await call("POST", "/projects", { name: "old", region: "us-east-1" });
  await call("POST", `/projects/${old}/archive`);
  await call("PUT", `/projects/${project_id}/environments/production`, {
    variables: {
      PORT: "8080",
      API_TOKEN: secretOf("a variable that is named like a secret"),
      SALT: { value: secretOf("a secret variable"), secret: true },
    },
  });
  await call("POST", "/webhooks", {
    url: `https://hooks.real-company.com/${secretOf("the path of a webhook")}`,
    events: ["deployment.failed"],
    secret: secretOf("the secret of a webhook"),
    headers: { "X-Receiver": secretOf("the header of a webhook") },
  });
  const integrations = [
    [
      "code_host",
      {
        repo: "acme/web",
        branch: "main",
        environment: "production",
        secret: secretOf("the secret of a code host"),
        project_id,
      },
    ],
    ["chat", { webhook_url: `https://chat.example.com/${secretOf("the path of a chat")}`, channel: "#ops" }],
    ["monitoring", { api_key: secretOf("the key of a monitoring provider"), site: "datadoghq.eu" }],
    ["custom", { url: "https://custom.example.com/in", secret: secretOf("the secret of a custom integration") }],
  ] as const;
  for (const [type, config] of integrations) await call("POST", "/integrations", { type, config });
  const ends = [
    {
      result: "fail",
      at: "building",
      message: `login failed: token=${secretOf("a secret variable")}`,
      durations: { building: "42s" },
    },
    { durations: { queued: "2s", building: "1m", deploying: "5s" } },
  ] as const;
  for (const end of ends) {
    await service.scenarios.next("deployment", end);
    const { id } = await call("POST", "/deployments", { project_id, environment: "production", source });
    await service.clock.runUntilIdle();
    await call("GET", `/deployments/${id}`);
    await call("GET", `/deployments/${id}/logs`);
  }
  await service.scenarios.next("generation", { result: "fail", message: "the model is on fire" });
  for (const prompt of ["a lake", `a letter to ${secretOf("an address")}`]) {
    const { id } = await call("POST", "/generations", { model: "image-draft", prompt, resolution: "512" });
    await service.clock.runUntilIdle();
    await call("GET", `/generations/${id}`);
  }
}

test("an emulator starts from what the account looks like, and no secret of it is written", async (t) => {
  const { service, url } = await account(t);
  const folder = join(temporaryFolder(t), "recorded");
  const recorder = await launch(t, ["record", "--upstream", url, "--out", folder, "--port", "0"]);
  await work(service, `${recorder.url}/v1`);
  const { code, rest } = await recorder.stop("SIGINT");
  assert.equal(code, 0, recorder.errors());
  const { event, left_out, ...counts } = JSON.parse(rest.at(-1) ?? "");
  assert.deepEqual([event, left_out], ["stopped", []]);
  assert.deepEqual(counts, { organizations: 1, users: 2, projects: 2, webhooks: 1, integrations: 4, scenarios: 4 });

  const files = ["seed.json", "scenarios.json"].map((name) => readFileSync(join(folder, name), "utf8"));
  assert.deepEqual(foundIn(secrets, files.join("\n") + rest.join("\n") + recorder.errors()), []);

  const emulator = await launch(t, [
    ...["dev", "--port", "0", "--clock", "manual", "--seed", join(folder, "seed.json")],
  ]);
  assert.equal(emulator.api_key, "sk_live_recorded_owner_1");
  const loaded = await runHere(["scenarios", "load", join(folder, "scenarios.json"), "--url", emulator.url]);
  assert.deepEqual([loaded.status, loaded.stdout], [0, "Added 4 scenarios.\n"], loaded.stderr);
  const get = async (path: string) => json(await emulator.get(`/v1${path}`));
  const { data: projects } = await get("/projects");
  assert.deepEqual(projects.map(({ name, region, status }: Record<string, string>) => [name, region, status]).sort(), [
    ["old", "us-east-1", "archived"],
    ["web", "eu-west-1", "active"],
  ]);
  const web = projects.find(({ name }: { name: string }) => name === "web");
  assert.deepEqual((await get(`/projects/${web.id}/environments`)).data[0].variables, {
    PORT: "8080",
    API_TOKEN: { secret: true },
    SALT: { secret: true },
  });
  assert.deepEqual((await get("/users")).data.map(({ email }: { email: string }) => email).sort(), [
    "developer-1@recorded.test",
    "owner-1@recorded.test",
  ]);
  assert.equal((await get("/integrations")).data.length, 4);
  assert.equal((await get("/webhooks")).data[0].url, "https://hooks.real-company.com/recorded");

  // The first deployment fails as the real one did, and the second takes as long as the real one.
  const post = async (path: string, body: object) => {
    const headers = jsonBearer(emulator.api_key);
    return json(await fetch(emulator.url + path, { method: "POST", headers, body: JSON.stringify(body) }));
  };
  const order = { project_id: web.id, environment: "production", source };
  const { id: failing } = await post("/v1/deployments", order);
  await post("/_svc/clock/advance", { by: "42s" });
  assert.equal((await get(`/deployments/${failing}`)).status, "building");
  await post("/_svc/clock/advance", { by: "1s" });
  assert.equal((await get(`/deployments/${failing}`)).status, "failed");
  assert.match((await get(`/deployments/${failing}/logs`)).data.at(-2).message, /^login failed/);
  const { id, created_at } = await post("/v1/deployments", order);
  await post("/_svc/clock/advance", { by: "5m" });
  const { status, completed_at } = await get(`/deployments/${id}`);
  assert.deepEqual([status, Date.parse(completed_at) - Date.parse(created_at)], ["active", 67_000]);
  assert.equal((await emulator.stop()).code, 0);
});

test("a kill leaves the recording of two seconds before", async (t) => {
  const { url } = await account(t);
  const folder = temporaryFolder(t);
  const recorder = await launch(t, ["record", "--upstream", `${url}/v1`, "--out", folder, "--port", "0"]);
  await recorder.get("/v1/me", secretOf("the caller's key"));
  const last = join(folder, "scenarios.json");
  const watcher = watch(folder);
  while (!existsSync(last)) await once(watcher, "change");
  watcher.close();
  await recorder.stop("SIGKILL");
  const { organizations } = parseSeed(JSON.parse(readFileSync(join(folder, "seed.json"), "utf8")));
  assert.equal(organizations[0]?.name, "acme");
  const again = await runHere(["record", "--upstream", url, "--out", folder, "--port", "0"]);
  assert.equal(again.status, 2);
  assert.match(again.stderr, /seed\.json is there already; name another folder with --out, or remove it/);
});

test("wrong options are refused before anything listens", async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, "file");
  writeFileSync(file, "");
  const refusals: readonly (readonly [RegExp, ...string[]])[] = [
    [/record needs the service to record: --upstream/],
    [/option --upstream must be an http or https URL/, "--upstream", "svc.example.com"],
    [/option --upstream must be an http or https URL without credentials/, "--upstream", "https://a:b@svc.example.com"],
    [/option --host must be a loopback address/, "--upstream", "http://127.0.0.1:1", "--host", "0.0.0.0"],
    [/option --port must be a whole number from 0 to 65535/, "--upstream", "http://127.0.0.1:1", "--port", "x"],
    [/option --out must name a folder that can be written/, "--upstream", "http://127.0.0.1:1", "--out", file],
  ];
  for (const [message, ...words] of refusals) {
    const { status, stderr } = await runHere(["record", ...words], folder);
    assert.deepEqual([status, message.test(stderr)], [2, true], stderr);
  }
  writeFileSync(file, "{}");
  const unusable: readonly (readonly [RegExp, ...string[]])[] = [
    [/needs the argument FILE/],
    [/the scenarios file none\.json cannot be read/, "none.json"],
    [/must hold a JSON list of scenarios/, file],
  ];
  for (const [message, ...words] of unusable) {
    const { status, stderr } = await runHere(["scenarios", "load", ...words], folder);
    assert.deepEqual([status, message.test(stderr)], [2, true], stderr);
  }
});
