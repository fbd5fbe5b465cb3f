/**
 * A server in a process of its own, for the tests that kill it. Each line that it prints is an acknowledged result, or
 * the reason why it could not start. It exits at the end of its input.
 *
 * - `hold`: opens the file and does nothing.
 * - `key`: creates the key file of the database and exits.
 * - `write`: makes, cancels and removes projects and deployments as fast as it can, under the real clock.
 * - `announce URL`: makes projects as fast as it can, with two webhooks at that address.
 * - `climb`: advances a manual clock in small steps.
 * - `order`: has one image made by a backend.
 * - `paint`: generates images, and prints each order that it submits to the driver.
 * - `remove`: makes a project with many deployments and deletes it, under a manual clock.
 * - `invite URL`: invites a person, with the mail server of that URL.
 * - `deadly`: starts one deployment that kills the process, and others that do not; after a restart it only resumes
 *   them.
 */
import { createService, type Service, simulatedDeployments, simulatedGenerations } from "../../lib/index.ts";
import { createRandom } from "../../lib/kernel/random.ts";
import { readOrCreateKey } from "../../lib/store/encryption.ts";
import { git, keyOf, seed } from "../helpers/test-service.ts";

const [, , database = "", command = "hold", receiver = ""] = process.argv;

// A pipe takes this synchronously, so a printed line survives a kill right after it.
const say = (...words: readonly (string | number)[]) => void process.stdout.write(`${words.join(" ")}\n`);

const quick = { queued: "1ms", building: "2ms", deploying: "1ms" };
const driver = simulatedDeployments(({ environment }) => ({
  durations: quick,
  ...(environment === "broken" && { result: "fail" as const }),
  ...(environment === "sick" && { result: "rolled_back" as const }),
}));
const steps = {
  ...driver,
  step(work: Parameters<typeof driver.step>[0]) {
    if (work.environment === "deadly") process.kill(process.pid, "SIGKILL");
    return driver.step(work);
  },
};

const painting = simulatedGenerations(() => ({ durations: { queued: "1ms", in_progress: "2ms" } }));
const paid: typeof painting = {
  ...painting,
  submit(work) {
    say("submitted", work.generation_id);
    return painting.submit(work);
  },
};

async function call(service: Service<string | null>, method: string, path: string, body?: object, key?: string) {
  const response = await service.fetch(`/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${keyOf("owner")}`,
      ...(body && { "content-type": "application/json" }),
      ...(key && { "idempotency-key": key }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: (text ? JSON.parse(text) : {}) as { id: string } };
}

async function deploy(service: Service<string | null>, project_id: string, environment: string): Promise<string> {
  const { status, body } = await call(service, "POST", "/deployments", { project_id, environment, source: git });
  if (status !== 201) throw new Error(`a deployment was answered ${status}`);
  say("deployment", body.id);
  return body.id;
}

/** Runs several times concurrently, so that transactions share commits. */
async function write(service: Service<string | null>, writer: number): Promise<void> {
  for (let i = 0; ; i++) {
    const name = `p-${process.pid}-${writer}-${i}`;
    say("try", name);
    const { status, body } = await call(service, "POST", "/projects", { name, region: "eu" }, name);
    if (status !== 201) throw new Error(`a project was answered ${status}`);
    say("project", name, body.id);
    for (const environment of ["production", "production", "broken", "sick", "sick"]) {
      const id = await deploy(service, body.id, environment);
      if ((i + writer) % 3 > 0) continue;
      const { status } = await call(service, "POST", `/deployments/${id}/cancel`);
      if (status === 200) say("cancelled", id);
    }
    if ((i + writer) % 4 > 0) continue;
    if ((await call(service, "DELETE", `/projects/${body.id}`)).status === 204) say("removed", body.id);
  }
}

/** Creates projects, whose events go to two webhooks at the address of the receiver. */
async function announce(service: Service<string | null>, url: string): Promise<void> {
  const { data } = (await call(service, "GET", "/webhooks")).body as unknown as { data: object[] };
  const hooks = data.length > 0 ? [] : ["fine", "sometimes"];
  for (const name of hooks)
    await call(service, "POST", "/webhooks", { url: `${url}/${name}`, events: ["project.created"] });
  for (let i = 0; ; i++) {
    const { body } = await call(service, "POST", "/projects", { name: `p-${process.pid}-${i}`, region: "eu" });
    say("project", body.id);
  }
}

/** Generates images, one after the other. */
async function paint(service: Service<string | null>, painter: number): Promise<void> {
  for (let seed = 0; ; seed++) {
    const order = { model: "any", prompt: `${painter}`, resolution: "64x64", seed };
    const { body } = await call(service, "POST", "/generations", order);
    say("generation", body.id);
    await service.settle();
  }
}

/** Advances in small steps, so that every retry falls due on the way. */
async function climb(service: Service<string | null>): Promise<void> {
  // A kill ends the loop.
  for (let i = 0; i < 100_000; i++) say("ran", (await service.clock.advance("15s")).ran);
}

/** Deletes a project with more rows than one transaction removes. */
async function remove(service: Service<string | null>): Promise<void> {
  const { body } = await call(service, "POST", "/projects", { name: "large", region: "eu" });
  for (let i = 0; i < 450; i++) await deploy(service, body.id, `e${i % 7}`);
  if ((await call(service, "DELETE", `/projects/${body.id}`)).status === 204) say("removed", body.id);
}

say("starting", process.pid);
try {
  if (command === "key") {
    readOrCreateKey(`${database}.key`, createRandom().bytes);
    process.exit();
  }
  const service = await createService({
    database,
    seed,
    rateLimit: 1_000_000,
    clock: ["climb", "remove"].includes(command) ? "manual" : "real",
    logLevel: "silent",
    ...(command === "invite" && { mail: { url: receiver }, outbound: { send: true } }),
    deployments: { driver: steps, concurrency: 32 },
    generations: {
      driver: paid,
      ...(command === "order" && {
        backends: { far: { type: "predictions" as const, url: receiver, models: { "far-away": { price: 0.5 } } } },
      }),
    },
  });
  process.stdin.on("end", () => void service.close());
  process.stdin.resume();
  say("ready", process.pid);
  if (command === "announce") await announce(service, receiver);
  if (command === "climb") await climb(service);
  if (command === "remove") await remove(service);
  if (command === "order") {
    const { body } = await call(service, "POST", "/generations", { model: "far-away", prompt: "a hill" });
    say("generation", body.id);
  }
  if (command === "invite") {
    const { status } = await call(service, "POST", "/users/invite", { email: "bob@acme.test", role: "viewer" });
    say("invited", status);
  }
  if (command === "paint") await Promise.all([0, 1, 2].map((painter) => paint(service, painter)));
  if (command === "write") await Promise.all([0, 1, 2, 3, 4, 5].map((writer) => write(service, writer)));
  if (command === "deadly") {
    const made = await call(service, "POST", "/projects", { name: "web", region: "eu" });
    for (const environment of made.status === 201 ? ["one", "deadly", "two"] : [])
      await deploy(service, made.body.id, environment);
  }
} catch (error) {
  say("refused", (error as Error).message);
  process.exitCode = 1;
  process.stdin.destroy();
}
