import { createHmac } from "node:crypto";
import { type Answer, type Check, changes, expect, field, type Item, type Probe, shown, Untried } from "./check.ts";
import { make, ownProject, unique } from "./own-project.ts";
import { firstRelease, restoredRelease } from "./releases.ts";
import { isDatetime } from "./shapes.ts";

const secret = "svc-verify-0123456789abcdef";

/**
 * Creates an inbox with a webhook that sends to it; returns its name. An emulator receives these deliveries; another
 * server would need a reachable receiver. Endpoints are created before the work whose events they receive.
 */
const inboxOf = (on: Probe, name: string, more: Item) =>
  on.once(`inbox ${name}`, async () => {
    const inbox = unique();
    const { status, body } = await on.open(`/_svc/inbox?endpoint=${inbox}`);
    if (status !== 200 || !Array.isArray(field(body, "data")))
      throw new Untried("it needs a receiver that the server reaches; an emulator has one, its inbox");
    const url = `https://${inbox}.inbox.test/`;
    await make(on, "/webhooks", { url, events: ["*"], ...more });
    return inbox;
  });
export const signed = (on: Probe) => inboxOf(on, "signed", { secret });
export const unsigned = (on: Probe) => inboxOf(on, "unsigned", {});

interface Caught {
  readonly answer: Answer;
  readonly headers: Item;
  readonly body: string;
  readonly payload: unknown;
}

async function caughtIn(on: Probe, inbox: string): Promise<readonly Caught[]> {
  const answer = await on.open(`/_svc/inbox?endpoint=${inbox}`);
  const data = field(answer.body, "data");
  return (Array.isArray(data) ? data : []).map((one: unknown) => {
    const body = String(field(one, "body"));
    let payload: unknown;
    try {
      payload = JSON.parse(body);
    } catch {}
    return { answer, headers: (field(one, "headers") ?? {}) as Item, body, payload };
  });
}

/** Waits for the delivery of an event about the deployment or project. */
async function delivered(on: Probe, inbox: string, event: string, id: unknown): Promise<Caught> {
  for (let waited = 0; ; waited += 500) {
    const caught = await caughtIn(on, inbox);
    const found = caught.find(({ payload, body }) => field(payload, "event") === event && body.includes(String(id)));
    if (found) return found;
    if (waited >= 10_000)
      expect(false, on.last as Answer, `no delivery of ${event} for ${id} came; ${caught.length} others did`);
    await on.pause(500);
  }
}

const header = ({ headers }: Caught, name: string) =>
  Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];

export const events: readonly Check[] = changes("Events", {
  "The events of a deployment and of a project are sent": async (on) => {
    const inbox = await signed(on);
    const { id } = await firstRelease(on);
    for (const event of ["deployment.queued", "deployment.started", "deployment.succeeded"])
      await delivered(on, inbox, event, id);
    const { record } = await restoredRelease(on);
    for (const event of ["deployment.rolled_back", "deployment.queued"])
      await delivered(on, inbox, event, record["id"]);
    await delivered(on, inbox, "project.created", (await ownProject(on))["id"]);
  },
  "A payload is JSON with event, timestamp and data": async (on) => {
    const inbox = await signed(on);
    await delivered(on, inbox, "project.created", (await ownProject(on))["id"]);
    for (const one of await caughtIn(on, inbox)) {
      const { answer, payload } = one;
      const [event, timestamp, data] = ["event", "timestamp", "data"].map((name) => field(payload, name));
      expect(typeof event === "string", answer, `event is ${shown(event)}`);
      expect(isDatetime(timestamp), answer, `timestamp of ${event} is ${shown(timestamp)}`);
      expect(typeof data === "object" && data !== null, answer, `data of ${event} is ${shown(data)}`);
      const type = header(one, "content-type");
      expect(String(type).startsWith("application/json"), answer, `content-type of ${event} is ${shown(type)}`);
    }
  },
  "data of deployment.succeeded has deployment_id, project_id, environment and version": async (on) => {
    const inbox = await signed(on);
    const { id: deployment_id, project_id, environment, version } = await firstRelease(on);
    const { answer, payload } = await delivered(on, inbox, "deployment.succeeded", deployment_id);
    for (const [name, value] of Object.entries({ deployment_id, project_id, environment, version })) {
      const sent = field(field(payload, "data"), name);
      expect(sent === value, answer, `data.${name} is ${shown(sent)}, and ${shown(value)} of the deployment`);
    }
  },
  "X-Service-Signature is sha256= with the HMAC-SHA256 of the raw body, keyed with the secret": async (on) => {
    const inbox = await signed(on);
    await delivered(on, inbox, "project.created", (await ownProject(on))["id"]);
    for (const one of await caughtIn(on, inbox)) {
      const signature = header(one, "x-service-signature");
      const right = `sha256=${createHmac("sha256", secret).update(one.body).digest("hex")}`;
      expect(signature === right, one.answer, `X-Service-Signature is ${shown(signature)}, expected ${shown(right)}`);
    }
  },
  "A webhook without a secret gets no X-Service-Signature": async (on) => {
    const inbox = await unsigned(on);
    const one = await delivered(on, inbox, "project.created", (await ownProject(on))["id"]);
    const signature = header(one, "x-service-signature");
    expect(signature === undefined, one.answer, `X-Service-Signature is ${shown(signature)}`);
  },
});
