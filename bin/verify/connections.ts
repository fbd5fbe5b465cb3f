import {
  type Answer,
  type Check,
  changes,
  expect,
  expectRefusal,
  expectStatus,
  field,
  idOf,
  itemsOf,
  type Probe,
  recordOf,
  shown,
  Untried,
} from "./check.ts";
import { expectSuccess, type Item, ownProject, refuses, unique } from "./own-project.ts";
import { expectRedacted } from "./records.ts";
import * as shape from "./shapes.ts";

/** A public URL that no other endpoint uses. It answers 404 or 405, and receives no request before an event occurs. */
const receiver = () => `https://example.com/${unique()}`;
const secret = "svc-verify-0123456789abcdef";

/** Creates an endpoint and registers its removal at the end. */
async function make(on: Probe, path: string, body: Item): Promise<{ readonly answer: Answer; readonly record: Item }> {
  const answer = await on.send("POST", path, { body });
  const record = expectSuccess(answer);
  on.atEnd(() => on.send("DELETE", `${path}/${record["id"]}`));
  return { answer, record };
}

/** Expects that DELETE answers 204 without a body and that the record leaves its list. */
async function removes(on: Probe, path: string, id: unknown): Promise<void> {
  expect(
    itemsOf(await on.get(path)).some((item) => item["id"] === id),
    on.last as Answer,
    `the list lacks ${id}`,
  );
  const answer = await on.send("DELETE", `${path}/${id}`);
  expectStatus(answer, 204);
  expect(answer.text === "", answer, `the body is ${shown(answer.text)}`);
  const list = await on.get(path);
  expect(!itemsOf(list).some((item) => item["id"] === id), list, `the list still has ${id}`);
}

const webhooks = changes("Webhooks", {
  "POST /webhooks answers an active webhook without its secret": async (on) => {
    const { answer, record } = await make(on, "/webhooks", { url: receiver(), events: ["project.created"], secret });
    const { status, events } = shape.expectShape(shape.webhook, record, answer);
    expect(status === "active", answer, `status is ${shown(status)}`);
    expect(JSON.stringify(events) === '["project.created"]', answer, `events is ${shown(events)}`);
    expect(!answer.text.includes(secret), answer, "the answer shows the secret");
  },
  'events ["*"] subscribes to every event': async (on) =>
    void (await make(on, "/webhooks", { url: receiver(), events: ["*"] })),
  "A url that does not start with https:// is refused": async (on) => {
    for (const url of ["http://example.com/hooks", "ftp://example.com/hooks", "example.com/hooks"])
      await refuses(on, "/webhooks", { url, events: ["*"] }, `the url is ${url}`);
  },
  "url and events are required": async (on) => {
    await refuses(on, "/webhooks", { events: ["*"] }, "the url is missing");
    await refuses(on, "/webhooks", { url: receiver() }, "the events are missing");
  },
  "DELETE /webhooks/{id} answers 204 without a body, and the webhook is gone": async (on) => {
    const { record } = await make(on, "/webhooks", { url: receiver(), events: ["*"] });
    await removes(on, "/webhooks", record["id"]);
  },
});

const integrations = changes("Integrations", {
  "POST /integrations answers an active integration, with the secrets of its config redacted": async (on) => {
    const config = { url: receiver(), secret, events: ["project.created"] };
    const { answer, record } = await make(on, "/integrations", { type: "custom", config });
    const { status, type } = shape.expectShape(shape.integration, record, answer);
    expect(status === "active" && type === "custom", answer, `status is ${shown(status)}, type ${shown(type)}`);
    expectRedacted(answer);
    expect(!answer.text.includes(secret), answer, "the answer shows the secret");
    const again = await on.get(`/integrations/${record["id"]}`);
    expect(!again.text.includes(secret), again, "the answer shows the secret");
  },
  "The webhook URL of a chat is redacted": async (on) => {
    const path = "T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX";
    const config = {
      webhook_url: `https://example.com/services/${path}`,
      channel: "#verify",
      events: ["project.created"],
    };
    const { answer } = await make(on, "/integrations", { type: "chat", config });
    expect(!answer.text.includes(path), answer, "config.webhook_url shows its path");
  },
  "The API key of a monitoring provider is redacted": async (on) => {
    const api_key = "svc-verify-0123456789abcdef0123456789";
    const config = { api_key, site: "example.com", service: "svc-verify" };
    const answer = await on.send("POST", "/integrations", { body: { type: "monitoring", config } });
    if (answer.status >= 400 && answer.status < 500)
      throw new Untried("the server takes no such integration; it needs the plan Pro or Enterprise");
    on.atEnd(() => on.send("DELETE", `/integrations/${idOf(answer)}`));
    shape.expectShape(shape.integration, expectSuccess(answer), answer);
    expect(!answer.text.includes(api_key), answer, "the answer shows the API key");
  },
  "A code host integration deploys a branch to an environment": async (on) => {
    const { id: project_id } = await ownProject(on);
    const config = { repo: "svc-verify/app", branch: "svc-verify", environment: "verify", project_id };
    const { answer, record } = await make(on, "/integrations", { type: "code_host", config });
    expect(field(record["config"], "repo") === config.repo, answer, `config is ${shown(record["config"])}`);
  },
  "An unknown type, and a config that breaks its rules, are refused": async (on) => {
    await refuses(on, "/integrations", { type: "pager", config: {} }, "the type is unknown");
    await refuses(
      on,
      "/integrations",
      { type: "custom", config: { url: "http://example.com/" } },
      "the url is plain http",
    );
    await refuses(on, "/integrations", { config: { url: receiver() } }, "the type is missing");
  },
  "DELETE /integrations/{id} answers 204 without a body, and the integration is gone": async (on) => {
    const { record } = await make(on, "/integrations", {
      type: "custom",
      config: { url: receiver(), events: ["project.created"] },
    });
    await removes(on, "/integrations", record["id"]);
  },
});

const users = changes("Users", {
  "An invitation needs an e-mail address and one of the four roles": async (on) => {
    expectRefusal(await on.send("POST", "/users/invite", { body: { role: "viewer" } }), "the email is missing");
    expectRefusal(
      await on.send("POST", "/users/invite", { body: { email: "svc-verify", role: "viewer" } }),
      "it is no e-mail address",
    );
    expectRefusal(
      await on.send("POST", "/users/invite", { body: { email: "svc-verify@example.com", role: "king" } }),
      "the role is unknown",
    );
  },
  "An invitation expires 7 days after its creation, and is not listed as a user": async (on) => {
    // The API cannot withdraw an invitation, but a server that lists invitations can.
    if ((await on.get("/invitations")).status !== 200)
      throw new Untried("an invitation is a mail to somebody, and this server could not take it back");
    const email = `${unique()}@example.invalid`;
    const answer = await on.send("POST", "/users/invite", { body: { email, role: "viewer" } });
    const record = expectSuccess(answer);
    on.atEnd(() => on.send("DELETE", `/invitations/${record["id"]}`));
    const { role, email: to, invited_at, expires_at } = shape.expectShape(shape.invitation, record, answer);
    expect(to === email && role === "viewer", answer, `it is for ${to}, ${role}`);
    const days = (Date.parse(expires_at) - Date.parse(invited_at)) / 86_400_000;
    expect(Math.abs(days - 7) < 0.01, answer, `it expires after ${days} days`);
    const list = await on.get("/users");
    expect(!itemsOf(list).some((user) => user["email"] === email), list, "the list has the invited person");
  },
  "A role is one of the four roles": async (on) => {
    const [one] = itemsOf(await on.get("/users"));
    if (!one) throw new Untried("the list of users is empty");
    expectRefusal(await on.send("PUT", `/users/${one["id"]}`, { body: { role: "king" } }), "the role is unknown");
  },
});

/** A small picture. Other services may interpret the model name differently. */
const order = { model: "image-draft", prompt: "a lake at night", resolution: "512" };
export const generation = (on: Probe) =>
  on.once("generation", async () => {
    const answer = await on.send("POST", "/generations", { body: order });
    if (answer.status >= 400 && answer.status < 500) throw new Untried(`the service has no model ${order.model}`);
    return { answer, record: expectSuccess(answer) };
  });

/** The generation after it has ended. */
const ended = (on: Probe) =>
  on.once("ended generation", async () => {
    const { record } = await generation(on);
    for (let waited = 0; ; waited += 500) {
      const answer = await on.get(`/generations/${record["id"]}`);
      const { status } = recordOf(answer);
      if (["completed", "succeeded", "failed"].includes(String(status))) return answer;
      if (waited >= on.patience_ms) throw new Untried(`it was still ${status} after ${on.patience_ms / 1_000} s`);
      await on.pause(500);
    }
  });

const generations = changes("Generations", {
  "POST /generations answers a generation at once": async (on) => {
    const { answer, record } = await generation(on);
    const { model } = shape.expectShape(shape.generation, record, answer);
    expect(model === order.model, answer, `model is ${shown(model)}`);
  },
  "model is required": async (on) =>
    expectRefusal(await on.send("POST", "/generations", { body: { prompt: order.prompt } }), "the model is missing"),
  "A generation ends as completed or succeeded with its output and cost, or as failed with its error": async (on) => {
    const answer = await ended(on);
    const { status, output, usage, error } = shape.expectShape(shape.generation, recordOf(answer), answer);
    if (status === "failed") return expect(error !== undefined, answer, "it failed without an error");
    expect(output !== undefined, answer, `it is ${status} without an output`);
    expect(usage !== undefined, answer, `it is ${status} without its usage`);
  },
  "output.url is a direct link to the image or video": async (on) => {
    const answer = await ended(on);
    const { status, output } = shape.expectShape(shape.generation, recordOf(answer), answer);
    if (output === undefined) throw new Untried(`the generation is ${status}, and has no output`);
    const file = await on.open(output.url);
    expect(file.status === 200 && file.text !== "", answer, `output.url answered ${file.status}`);
    const type = file.headers.get("content-type") ?? "missing";
    expect(type.startsWith(`${output.type}/`), answer, `output.url has the content-type ${shown(type)}`);
  },
});

export const connectionWrites: readonly Check[] = [...webhooks, ...integrations, ...users, ...generations];
