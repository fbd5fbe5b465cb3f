import type { Service } from "../../lib/index.ts";

/** Lines that a page must show as plain text: HTML elements, reversed text direction, more text than a screen holds. */
const hostile: ReadonlyMap<number, string> = new Map([
  [50, "<img src=x onerror=alert(1)>"],
  [51, "\u202Egnp.exe\u2066"],
  [55, "y".repeat(100_000)],
]);

/** A project on a manual clock, with deployments in every state that users see. Returns the ids. */
export async function fillDashboard(service: Service<string | null>) {
  const client = service.client();
  const { id: project } = await client.projects.create({
    name: "checkout",
    region: "eu-west-1",
    description: "The till",
  });
  await client.environments.put({
    id: project,
    name: "production",
    variables: { PORT: "8080", DATABASE_URL: { value: "postgres://…", secret: true } },
  });
  const hook = await client.webhooks.create({ url: "https://shop.inbox.test/hooks", events: ["*"] });
  const source = { type: "git", repo: "acme/checkout", branch: "main" } as const;
  const deploy = (environment: string) => client.deployments.create({ project_id: project, environment, source });
  const live = await deploy("production");
  await service.clock.advance("1m");
  await service.scenarios.add({
    match: { environment: "staging" },
    outcome: {
      result: "fail",
      at: "building",
      message: "npm test ended with 1",
      logs: Array.from({ length: 60 }, (_, i) => ({
        level: i % 20 === 19 ? "warn" : i === 57 ? "error" : "info",
        message: hostile.get(i) ?? `step ${i + 1}: compiles lib/part-${i + 1}.ts`,
      })),
    },
    times: 1,
  });
  const failed = await deploy("staging");
  await service.clock.advance("3m");
  const running = await deploy("production");
  await service.clock.advance("2s");
  await deploy("preview");
  return {
    project,
    hook: hook.id,
    live: live.id,
    failed: failed.id,
    running: running.id,
    ...(await fillMore(service)),
    ...(await fillInstruments(service)),
  };
}

/** Generations in every state, an integration, an invitation, and failed deliveries. Returns their ids. */
async function fillMore(service: Service<string | null>) {
  const client = service.client();
  const film = await client.generations.create({ model: "video-standard", prompt: "Waves at dawn", duration: 1 });
  const prompts = ["A harbour at dawn", "A mountain lake in the snow", "<img src=x onerror=alert(1)> \u202Egnp.exe"];
  for (const [seed, prompt] of prompts.entries())
    await client.generations.create({ model: "image-draft", prompt, resolution: "512", seed });
  await service.scenarios.add({
    match: { prompt: "*refused*" },
    outcome: { result: "fail", message: "the model refused this prompt" },
  });
  await client.generations.create({ model: "image-standard", prompt: "A refused picture" });
  service.inbox.script("chat", [500, 503]);
  const chat = await client.integrations.create({
    type: "chat",
    config: { webhook_url: "https://chat.inbox.test/services/T0/B0", channel: "#deploys" },
  });
  await client.webhooks.test({ id: (await client.webhooks.list()).data[0]?.id ?? "" });
  await client.integrations.test({ id: chat.id });
  await client.users.invite({ email: "grace@acme.test", role: "developer" });
  await service.clock.advance("40s");
  await client.generations.create({ model: "image-draft", prompt: "A picture that is not there yet" });
  const { data } = await client.integrations.deliveries({ id: chat.id });
  return { film: film.id, chat: chat.id, delivery: data[0]?.id ?? "" };
}

/** Adds records for every page of the instruments. */
async function fillInstruments(service: Service<string | null>) {
  const outcome = { result: "fail", message: "npm test ended with 1", durations: { building: "2m" } } as const;
  await service.scenarios.add({ match: { branch: "release-*" }, outcome, times: 2 });
  service.faults.add({ match: { method: "POST", path: "/v1/deployments" }, respond: { status: 503 }, nth: 9 });
  service.inbox.script("shop", [500, { timeout: true }]);
  service.webhooks.forward("crm", "http://localhost:3000/hooks");
  const { id: snapshot } = await service.snapshot({ name: "before the release" });
  const client = service.client();
  for (const { id } of (await client.projects.list({})).data)
    await client.projects.update({ id, description: "The shop" });
  const { headers = {} } = service.inbox.list().at(-1) ?? {};
  return { caught: `${headers["x-service-delivery"]}.${headers["x-service-attempt"]}`, snapshot };
}
