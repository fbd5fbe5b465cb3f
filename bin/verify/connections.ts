import {
  type Answer,
  type Check,
  changes,
  expect,
  expectFields,
  expectListed,
  expectRefusal,
  expectRemoval,
  expectSuccess,
  type Item,
  idOf,
  itemsOf,
  type Probe,
  shown,
  Untried,
  waitFor,
} from "./check.ts";
import { make, ownProject, refuses, unique } from "./own-project.ts";
import { expectRedacted } from "./records.ts";
import * as shape from "./shapes.ts";

/** A public URL that no other endpoint uses. It answers 404 or 405, and receives no request before an event occurs. */
const receiver = () => `https://example.com/${unique()}`;
const secret = "svc-verify-0123456789abcdef";
const all = { events: ["*"] };

/** Makes an endpoint, and expects that DELETE answers 204 without a body and that it leaves its list. */
async function removes(on: Probe, path: string, body: Item): Promise<void> {
  const { id } = (await make(on, path, body)).record;
  expectListed(await on.get(path), id);
  expectRemoval(await on.send("DELETE", `${path}/${id}`));
  expectListed(await on.get(path), id, false);
}

const hides = (answer: Answer, text: string, what: string) =>
  expect(!answer.text.includes(text), answer, `the answer shows ${what}`);

const webhooks = changes("Webhooks", {
  "POST /webhooks answers an active webhook without its secret": async (on) => {
    const events = ["project.created"];
    const made = await make(on, "/webhooks", { url: receiver(), events, secret });
    shape.expectShape(shape.webhook, made, { status: "active", events });
    hides(made.answer, secret, "the secret");
  },
  'events ["*"] subscribes to every event': async (on) =>
    void (await make(on, "/webhooks", { url: receiver(), ...all })),
  "A url that does not start with https:// is refused": async (on) => {
    for (const url of ["http://example.com/hooks", "ftp://example.com/hooks", "example.com/hooks"])
      await refuses(on, "/webhooks", { [`the url is ${url}`]: { url, ...all } });
  },
  "url and events are required": (on) =>
    refuses(on, "/webhooks", { "the url is missing": all, "the events are missing": { url: receiver() } }),
  "DELETE /webhooks/{id} answers 204 without a body, and the webhook is gone": (on) =>
    removes(on, "/webhooks", { url: receiver(), ...all }),
});

const custom = () => ({ type: "custom", config: { url: receiver(), secret, events: ["project.created"] } });

const integrations = changes("Integrations", {
  "POST /integrations answers an active integration, with the secrets of its config redacted": async (on) => {
    const made = await make(on, "/integrations", custom());
    const { id } = shape.expectShape(shape.integration, made, { status: "active", type: "custom" });
    expectRedacted(made.answer);
    hides(made.answer, secret, "the secret");
    hides(await on.get(`/integrations/${id}`), secret, "the secret");
  },
  "The webhook URL of a chat is redacted": async (on) => {
    const path = "T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX";
    const webhook_url = `https://example.com/services/${path}`;
    const config = { webhook_url, channel: "#verify", events: ["project.created"] };
    const { answer } = await make(on, "/integrations", { type: "chat", config });
    hides(answer, path, "the path of config.webhook_url");
  },
  "The API key of a monitoring provider is redacted": async (on) => {
    const api_key = "svc-verify-0123456789abcdef0123456789";
    const config = { api_key, site: "example.com", service: "svc-verify" };
    const answer = await on.send("POST", "/integrations", { body: { type: "monitoring", config } });
    if (answer.status >= 400 && answer.status < 500)
      throw new Untried("the server takes no such integration; it needs the plan Pro or Enterprise");
    on.atEnd(() => on.send("DELETE", `/integrations/${idOf(answer)}`));
    shape.expectShape(shape.integration, expectSuccess(answer));
    hides(answer, api_key, "the API key");
  },
  "A code host integration deploys a branch to an environment": async (on) => {
    const { id: project_id } = await ownProject(on);
    const repo = "svc-verify/app";
    const config = { repo, branch: "svc-verify", environment: "verify", project_id };
    const { answer, record } = await make(on, "/integrations", { type: "code_host", config });
    expectFields({ answer, record: Object(record["config"]) }, { repo });
  },
  "An unknown type, and a config that breaks its rules, are refused": (on) =>
    refuses(on, "/integrations", {
      "the type is unknown": { type: "pager", config: {} },
      "the url is plain http": { type: "custom", config: { url: "http://example.com/" } },
      "the type is missing": { config: { url: receiver() } },
    }),
  "DELETE /integrations/{id} answers 204 without a body, and the integration is gone": (on) =>
    removes(on, "/integrations", custom()),
});

const users = changes("Users", {
  "An invitation needs an e-mail address and one of the four roles": (on) =>
    refuses(
      on,
      "/users/invite",
      {
        "the email is missing": { role: "viewer" },
        "it is no e-mail address": { email: "svc-verify", role: "viewer" },
        "the role is unknown": { email: "svc-verify@example.com", role: "king" },
      },
      "/invitations",
    ),
  "An invitation expires 7 days after its creation, and is not listed as a user": async (on) => {
    // The API cannot withdraw an invitation, but a server that lists invitations can.
    if ((await on.get("/invitations")).status !== 200)
      throw new Untried("an invitation is a mail to somebody, and this server could not take it back");
    const body = { email: `${unique()}@example.invalid`, role: "viewer" };
    const made = await make(on, "/users/invite", body, "/invitations");
    const { invited_at, expires_at } = shape.expectShape(shape.invitation, made, body);
    const days = (Date.parse(expires_at) - Date.parse(invited_at)) / 86_400_000;
    expect(Math.abs(days - 7) < 0.01, made.answer, `it expires after ${days} days`);
    const list = await on.get("/users");
    expect(!itemsOf(list).some(({ email }) => email === body.email), list, "the list has the invited person");
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
    return expectSuccess(answer);
  });

const ended = (on: Probe) =>
  on.once("ended generation", async () => {
    const { id } = (await generation(on)).record;
    return waitFor(on, `/generations/${id}`, (status) => ["completed", "succeeded", "failed"].includes(status));
  });

const generations = changes("Generations", {
  "POST /generations answers a generation at once": async (on) =>
    void shape.expectShape(shape.generation, await generation(on), { model: order.model }),
  "model is required": (on) => refuses(on, "/generations", { "the model is missing": { prompt: order.prompt } }),
  "A generation ends as completed or succeeded with its output and cost, or as failed with its error": async (on) => {
    const made = await ended(on);
    const { status, output, usage, error } = shape.expectShape(shape.generation, made);
    if (status === "failed") return expect(error !== undefined, made.answer, "it failed without an error");
    expect(output !== undefined, made.answer, `it is ${status} without an output`);
    expect(usage !== undefined, made.answer, `it is ${status} without its usage`);
  },
  "output.url is a direct link to the image or video": async (on) => {
    const made = await ended(on);
    const { status, output } = shape.expectShape(shape.generation, made);
    if (output === undefined) throw new Untried(`the generation is ${status}, and has no output`);
    const file = await on.open(output.url);
    expect(file.status === 200 && file.text !== "", made.answer, `output.url answered ${file.status}`);
    const type = file.headers.get("content-type") ?? "missing";
    expect(type.startsWith(`${output.type}/`), made.answer, `output.url has the content-type ${shown(type)}`);
  },
});

export const connectionWrites: readonly Check[] = [...webhooks, ...integrations, ...users, ...generations];
