import assert from "node:assert/strict";
import { test } from "node:test";
import { expect, type World, world } from "../helpers/test-service.ts";

interface Section {
  readonly type: "section";
  readonly text: { readonly type: "mrkdwn"; readonly text: string };
  readonly fields?: readonly { readonly text: string }[];
}
interface Message {
  readonly channel?: string;
  readonly text: string;
  readonly blocks: readonly Section[];
}

/** A receiver with Slack's published limits: it refuses a message that Slack would refuse. */
function slackReceiver() {
  const messages: Message[] = [];
  const isWithin = (text: string, most: number) => text.length >= 1 && text.length <= most && text.isWellFormed();
  const accepts = ({ text, blocks }: Message) =>
    isWithin(text, 4000) &&
    blocks.length <= 50 &&
    blocks.every(
      (block) =>
        isWithin(block.text.text, 3000) &&
        (block.fields ?? []).length <= 10 &&
        (block.fields ?? []).every((field) => isWithin(field.text, 2000)),
    );
  const answer = async (request: Request) => {
    const message = (await request.json()) as Message;
    if (!accepts(message)) return new Response("invalid_blocks", { status: 400 });
    messages.push(message);
    return new Response("ok");
  };
  return { messages, answer };
}

async function connect(here: World) {
  const { messages, answer } = slackReceiver();
  here.service.webhooks.sink("chat", answer);
  const config = { webhook_url: "https://chat.inbox.test/services/T0/B0/secret-path", channel: "#deploys" };
  const made = expect(await here.call("owner", "POST", "/v1/integrations", { type: "chat", config }), 201);
  const deliveries = async () =>
    expect(await here.call("owner", "GET", `/v1/integrations/${made.id}/deliveries`), 200).data;
  return { messages, deliveries };
}

test("a chat receives messages with the project's name, the environment and the version", async (t) => {
  const here = await world(t);
  const { messages } = await connect(here);
  const project = await here.project("a & b");
  await here.deploy(project.id, { source: { type: "git", repo: "acme/web", tag: "v1.4.2" } });
  await here.service.clock.advance("10s");
  assert.deepEqual(
    messages.map(({ text }) => text),
    [
      "📦 Project *a &amp; b* was created in eu-west-1",
      "⏳ *a &amp; b*: deployment to *production* is queued",
      "🔨 *a &amp; b*: build for *production* started",
      "✅ *a &amp; b*: deployment to *production* succeeded after 6s",
    ],
  );
  for (const { channel, text, blocks } of messages) {
    assert.equal(channel, "#deploys");
    assert.deepEqual(
      blocks.map((block) => block.text.text),
      [text],
    );
  }
  assert.match(JSON.stringify(messages[3]), /v1\.4\.2/);
  assert.doesNotMatch(JSON.stringify(messages), new RegExp(project.id));
});

for (const [name, reason] of [
  ["plain", "npm ERR! ".repeat(445).slice(0, 4000)],
  ["that grows fivefold when it is escaped", "&".repeat(4000)],
  ["of characters that must not be cut in two", "x🙂<".repeat(1333)],
] as const)
  test(`a failure message of 4,000 characters, ${name}, arrives whole within Slack's limits`, async (t) => {
    const here = await world(t);
    const { messages, deliveries } = await connect(here);
    await here.service.scenarios.next("deployment", { result: "fail", at: "building", message: reason });
    await here.deploy((await here.project()).id);
    await here.service.clock.advance("10s");
    const failed = messages.at(-1);
    const whole = failed?.blocks.map(({ text }) => text.text).join("") ?? "";
    const unescaped = whole.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
    assert.ok(unescaped.endsWith(`failed after 4s: ${reason}`), unescaped.slice(0, 100));
    const [first, second] = failed?.blocks ?? [];
    assert.equal(failed?.text, `${first?.text.text}${second ? "…" : ""}`, "a notification that is cut says so");
    assert.ok(failed.text.length <= 3000);
    for (const { text } of failed?.blocks ?? []) assert.doesNotMatch(text.text, /&(?!(amp|lt|gt);)/);
    const statuses = (await deliveries()).map(({ status }: { status: string }) => status);
    assert.deepEqual([...new Set(statuses)], ["succeeded"]);
  });

test("a version that is longer than a field of a chat is cut, and says so", async (t) => {
  const here = await world(t);
  const { messages, deliveries } = await connect(here);
  const source = { type: "git", repo: "acme/web", tag: "&".repeat(1000) };
  await here.deploy((await here.project()).id, { source });
  await here.service.clock.advance("10s");
  assert.match(messages.at(-1)?.blocks[0]?.fields?.[0]?.text ?? "", /^\*Version\*\n(&amp;)+…$/);
  assert.ok((await deliveries()).every(({ status }: { status: string }) => status === "succeeded"));
});

test("a reason of a driver that is longer than a chat shows is cut, and says so", async (t) => {
  const message = "long ".repeat(20_000);
  const driver = { delay: () => 0, step: async () => ({ state: "failed" as const, message, logs: [] }) };
  const here = await world(t, { deployments: { driver } });
  const { messages } = await connect(here);
  await here.deploy((await here.project()).id);
  await here.service.clock.advance("10s");
  const texts = messages.at(-1)?.blocks.map(({ text }) => text.text) ?? [];
  assert.equal(texts.length, 10);
  assert.match(texts.at(-1) ?? "", /…$/);
});
