import assert from "node:assert/strict";
import { test } from "node:test";
import { browser, noBrowser } from "../helpers/browser.ts";
import { dashboardPage } from "../helpers/dashboard-page.ts";
import { isLong } from "../helpers/properties.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";
import { keyOf } from "../helpers/test-service.ts";

test("Chromium: the overview", {
  skip: noBrowser || (!isLong && "npm run test:dashboard runs it"),
}, async (suite) => {
  const { open } = await browser(suite);

  await suite.test("the overview tells what the quick start did, and each line leads to it", async (t) => {
    const { port, service, deploy } = await listeningWorld(t);
    const client = service.client({ apiKey: keyOf("owner") });
    const page = await dashboardPage(t, open, `http://127.0.0.1:${port}`);
    await page.getByText("First steps").waitFor();
    await page.getByRole("button", { name: "Put a key into the commands" }).click();
    await page
      .getByText(/Bearer sk_live_\w+/)
      .first()
      .waitFor();
    // What the quick start of the README makes.
    service.inbox.script("shop", [500, 500]);
    const hook = await client.webhooks.create({ url: "https://shop.inbox.test/in", events: ["project.created"] });
    const { id } = await client.projects.create({ name: "api", region: "eu-west-1" });
    await client.generations.create({ model: "image-draft", prompt: "a lake at night" });
    await service.clock.advance("2s");
    await page.getByText("fails: the last answer was 500, and it is tried again").waitFor();
    await page.getByLabel("Due next").getByText("a delivery is tried").waitFor();
    await service.clock.advance("3h");
    const lately = page.getByLabel("Lately");
    await lately.getByRole("link", { name: "project created: api" }).waitFor();
    await lately.getByRole("link", { name: "shop.inbox.test answered 500 to project.created", exact: true }).waitFor();
    await lately.getByRole("link", { name: "shop.inbox.test answered 200 to project.created, try 3" }).waitFor();
    // Two failures at the same time stay failures.
    service.inbox.script("shop", [500, 500]);
    const [sent] = (await client.webhooks.deliveries({ id: hook.id })).data;
    for (const number of [4, 5]) {
      await client.webhooks.redeliver({ id: hook.id, dlv: sent?.id ?? "" });
      await service.settle();
      await lately.getByRole("link", { name: `answered 500 to project.created, try ${number}` }).waitFor();
    }
    // Many answers of a receiver in a row are one line.
    for (let i = 0; i < 4; i++) await client.webhooks.redeliver({ id: hook.id, dlv: sent?.id ?? "" });
    await service.settle();
    await lately.getByRole("link", { name: /^shop.inbox.test accepted [3-9] deliveries$/ }).waitFor();
    await page.getByRole("link", { name: "a lake at night", exact: true }).getByAltText("").waitFor();
    const outcome = { result: "fail", at: "building", message: "npm test ended with 1" } as const;
    await service.scenarios.next("deployment", outcome);
    const { id: failed } = await deploy(id);
    await service.clock.advance("1m");
    await page.getByLabel("Needs attention").getByText("npm test ended with 1").waitFor();
    await page.getByLabel("Needs attention").getByRole("link", { name: "api to production" }).click();
    await page.waitForURL(`**/deployments/${failed}`);
  });

  await suite.test("what only an emulator can do begins on the overview", async (t) => {
    const { port, service, project, deploy } = await listeningWorld(t);
    await deploy((await project("till")).id);
    await service.clock.advance("1s");
    const page = await dashboardPage(t, open, `http://127.0.0.1:${port}`);
    const deeds = page.getByLabel("Emulate").last();
    const begin = async (name: string) => {
      await page.getByLabel("Pages").getByRole("link", { name: "Overview" }).click();
      await deeds.getByRole("button", { name }).click();
    };
    await page.getByLabel("Due next").getByRole("link", { name: "till to production" }).waitFor();
    await begin("See the next hour");
    await page.getByLabel("What would happen").getByText("deployment.succeeded").waitFor();
    await page.getByText("1 deployment succeeds.").waitFor();
    const told = page.getByLabel("What would happen").getByRole("listitem").filter({ hasText: "deployment.succeeded" });
    assert.match((await told.getByRole("link").textContent()) ?? "", /^till · production \w+$/);
    await begin("Keep this state");
    await page.getByRole("cell", { name: "snap_1" }).waitFor();
    await begin("Try it in a fork");
    await page.getByRole("link", { name: /^fork_1 at http/ }).waitFor();
    await begin("Turn clicks into a test");
    await page.getByText("Recording: 0 calls").waitFor();
    await page.getByRole("button", { name: "Stop", exact: true }).click();
  });

  await suite.test("a failure needs attention until a later deployment to the same place succeeds", async (t) => {
    const { port, service, project, deploy } = await listeningWorld(t);
    const { id } = await project("till");
    await service.client({ apiKey: keyOf("owner") }).webhooks.create({ url: "https://a.inbox.test/", events: ["*"] });
    for (const message of ["the first reason", "the second reason"]) {
      await service.scenarios.next("deployment", { result: "fail", at: "building", message });
      await deploy(id);
      await service.clock.advance("1m");
    }
    const page = await dashboardPage(t, open, `http://127.0.0.1:${port}`);
    const attention = page.getByLabel("Needs attention");
    await attention.getByText("the second reason").waitFor();
    assert.equal(await attention.getByRole("listitem").count(), 1);
    // A delivery that arrived at once is said beside its event.
    await page.getByLabel("Lately").getByText("accepted by a.inbox.test").first().waitFor();
    await deploy(id);
    await service.clock.advance("1m");
    await attention.waitFor({ state: "detached" });
  });

  await suite.test("the overview counts receivers that fail, not those that somebody turned off", async (t) => {
    const { port, service, project } = await listeningWorld(t);
    const client = service.client({ apiKey: keyOf("owner") });
    service.inbox.script("shop", Array(6).fill(503));
    await client.webhooks.create({ url: "https://shop.inbox.test/in", events: ["project.created"] });
    const { id } = await client.webhooks.create({ url: "https://old.inbox.test/in", events: ["*"] });
    await client.webhooks.update({ id, status: "inactive" });
    for (const prompt of ["one", "two", "three", "four"])
      await client.generations.create({ model: "image-draft", prompt });
    for (const name of ["one", "two", "three", "four", "five", "six", "seven"]) {
      await project(name);
      await service.clock.advance("1d");
    }
    const page = await dashboardPage(t, open, `http://127.0.0.1:${port}`, "/projects");
    const searches: string[] = [];
    page.on("request", (request) => {
      if (/deliveries\?per_page=100/.test(request.url())) searches.push(request.url());
    });
    await page.getByLabel("Pages").getByRole("link", { name: "Overview" }).click();
    await page.locator(".figures").getByText("1 of 2").waitFor();
    await page.getByLabel("Needs attention").getByText("turned itself off; the last answer was 503").waitFor();
    assert.equal(await page.getByLabel("Needs attention").getByRole("listitem").count(), 1);
    await project("eight");
    await page.getByLabel("Lately").getByRole("link", { name: "project created: eight" }).waitFor();
    assert.equal(searches.length, 2, "a refresh searches the deliveries of a receiver that is off no more");
    const pictures = page.getByLabel("Pictures").locator("img");
    await pictures.first().waitFor();
    assert.equal(await pictures.count(), 3, "each is loaded in its full size");
    await page.getByLabel("Pages").getByRole("link", { name: "Costs" }).click();
    await page.getByRole("heading", { name: "Costs of generations" }).waitFor();
  });

  await suite.test("a backlog is counted whole, and takes one line", async (t) => {
    const { port, service, project, deploy } = await listeningWorld(t);
    const { id } = await project("till");
    await deploy(id);
    await service.clock.advance("1m");
    for (let i = 0; i < 21; i++) await deploy(id);
    const page = await dashboardPage(t, open, `http://127.0.0.1:${port}`);
    await page.locator(".figures").getByText("0 + 21 queued").waitFor();
    const latest = page.getByLabel("Latest deployments").getByRole("listitem");
    assert.deepEqual([await latest.count(), await latest.filter({ hasText: "queued" }).count()], [2, 1]);
  });
});
