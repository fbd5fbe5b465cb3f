import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { browser, noBrowser } from "../helpers/browser.ts";
import { dashboardPage } from "../helpers/dashboard-page.ts";
import { isLong } from "../helpers/properties.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";

test("Chromium: the clock bar", {
  skip: noBrowser || (!isLong && "npm run test:dashboard runs it"),
}, async (suite) => {
  const { open } = await browser(suite);

  const opened = async (t: TestContext, path: string) => {
    const here = await listeningWorld(t);
    const origin = `http://127.0.0.1:${here.port}`;
    const page = await dashboardPage(t, open, origin, path);
    const button = (name: string | RegExp) => page.getByRole("button", { name, exact: true });
    const submit = (name: string) => page.getByRole("dialog").getByRole("button", { name, exact: true });
    const fill = (name: string, text: string) => page.getByLabel(name, { exact: true }).fill(text);
    return {
      ...here,
      page,
      origin,
      button,
      submit,
      fill,
      client: here.service.client({ apiKey: "sk_live_demo_owner" }),
    };
  };

  await suite.test(
    "a deployment that waits says that the clock stands, and moves it; a failed one names its cause",
    async (t) => {
      const { page, service, project, deploy, origin } = await opened(t, "/deployments");
      const { id: parent } = await project();
      const scenario = { match: { environment: "production" }, outcome: { result: "fail" }, times: 1 } as const;
      await service.scenarios.add(scenario);
      const { id } = await deploy(parent);
      await page.goto(`${origin}/dashboard/deployments/${id}`);
      const main = page.locator("main");
      await main.getByText("The clock stands, and this waits until 2026-01-01 00:00:01 UTC.").waitFor();
      await main.getByRole("button", { name: "To the next" }).click();
      await main.getByText("The clock stands, and this waits until 2026-01-01 00:00:04 UTC.").waitFor();
      await main.getByRole("button", { name: "To the next" }).click();
      await main.getByText("made it fail").waitFor();
      assert.equal(await main.getByRole("button", { name: "To the next" }).count(), 0);
      await main.getByRole("link", { name: "scenario" }).click();
      await page.getByRole("heading", { level: 1, name: "Scenarios" }).waitFor();
    },
  );

  await suite.test("the clock moves on, to what is due next, and back", async (t) => {
    const { page, button, fill, service, project, deploy } = await opened(t, "/deployments");
    const { id } = await deploy((await project()).id);
    const stateOf = async () => (await service.client({ apiKey: "sk_live_demo_owner" }).deployments.get({ id })).status;
    const clock = page.getByLabel("Clock");
    await clock.getByText("a deployment starts").waitFor();
    await button("To the next").click();
    await clock.getByRole("link", { name: "a deployment goes on" }).waitFor();
    assert.equal(await stateOf(), "building");
    await fill("Advance by", "banana");
    await button("Advance").click();
    await clock.getByRole("alert").waitFor();
    await fill("Advance by", "1h");
    await page.keyboard.press("Enter");
    await clock.getByText("2026-01-01 01:00:01").waitFor();
    assert.equal(await stateOf(), "active");
    // The time shows before this tab knows the way back.
    await clock.getByText("back to 2026-01-01 00:00:01").waitFor({ state: "attached" });
    await button(/^Undo/).click();
    await clock.locator("time").getByText("2026-01-01 00:00:01").waitFor();
    assert.equal(await stateOf(), "building");
    await button(/^Undo/).click();
    await clock.locator("time").getByText("2026-01-01 00:00:00").waitFor();
    assert.equal(await stateOf(), "queued");
    assert.equal(await button(/^Undo/).isDisabled(), true);
    // The clock shows the time before the snapshot is deleted.
    await page.locator("button:disabled:not([aria-disabled])", { hasText: "Undo" }).waitFor();
    assert.deepEqual(service.snapshots.list(), []);
  });

  await suite.test("the clock: a freeze has a way back, times tick, and the speed shows", async (t) => {
    const { port, service, project } = await listeningWorld(t, { clock: "600x" });
    await project();
    const page = await dashboardPage(t, open, `http://127.0.0.1:${port}`, "/projects");
    const clock = page.getByLabel("Clock");
    const button = (name: string) => clock.getByRole("button", { name, exact: true });
    await clock.getByText("600x", { exact: true }).waitFor();
    // Nothing happens in the service meanwhile, and still its time goes on, in the bar and in the row.
    const shown = await clock.locator("time").textContent();
    await clock.locator("time", { hasNotText: shown ?? "" }).waitFor();
    await page
      .getByRole("row")
      .getByText(/\d+ (min|h) ago/)
      .waitFor();
    await button("Freeze").click();
    await clock.getByText("frozen", { exact: true }).waitFor();
    await page.setViewportSize({ width: 390, height: 844 });
    const bar = await clock.boundingBox();
    assert.ok(bar && bar.height <= 60, `one line on a phone, and not ${bar?.height} px`);
    await page.setViewportSize({ width: 1280, height: 720 });
    const at = service.clock.now().getTime();
    await button("+1d").click();
    await clock.getByText(/jobs? ran/).waitFor();
    assert.equal(service.clock.now().getTime(), at + 86_400_000);
    await button("Let it run").click();
    await clock.getByText("600x", { exact: true }).waitFor();
    assert.equal(await button("+1d").count(), 0);
  });

  await suite.test("Undo says what it takes away, and asks if somebody else changed something since", async (t) => {
    const { page, button, submit, client, project, fill } = await opened(t, "/projects");
    const clock = page.getByLabel("Clock");
    await project("before");
    await button("+10s").click();
    await clock.getByText("back to 2026-01-01 00:00:00").waitFor({ state: "attached" });
    // Its own work goes without a question.
    await button("New project").click();
    await fill("Name", "mine");
    await submit("Create").click();
    await page.getByRole("heading", { name: "mine" }).waitFor();
    await button(/^Undo/).click();
    await clock.getByText(/^Undone: .*1 project goes/).waitFor();
    const names = async () => (await client.projects.list()).data.map(({ name }) => name);
    assert.deepEqual(await names(), ["before"]);

    await button("+10s").click();
    await clock.getByText("back to 2026-01-01 00:00:00").waitFor({ state: "attached" });
    await project("theirs");
    await button(/^Undo/).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("POST /v1/projects").waitFor();
    await dialog.getByText("1 project goes", { exact: false }).waitFor();
    await submit("Close").click();
    assert.deepEqual(await names(), ["theirs", "before"]);
    await button(/^Undo/).click();
    await submit("Undo").click();
    await dialog.waitFor({ state: "detached" });
    assert.deepEqual(await names(), ["before"]);
  });

  await suite.test("Undo asks about what another tab did: to the control interface, and deployments", async (t) => {
    const { page, origin, button, submit, project, client } = await opened(t, "/projects");
    const { id } = await project("shop");
    const other = await dashboardPage(t, (url) => open(url), origin, `/projects/${id}`);
    const inOther = (name: string) => other.getByRole("button", { name, exact: true });
    const clock = page.getByLabel("Clock");
    const dialog = page.getByRole("dialog");
    const move = async () => {
      await button("+10s").click();
      await page.locator("button:enabled", { hasText: "Undo" }).waitFor();
    };
    await move();
    await inOther("Deploy").click();
    await other.getByLabel("Repository").fill("acme/web");
    await other.getByRole("dialog").getByRole("button", { name: "Deploy", exact: true }).click();
    await other.getByRole("heading", { name: "shop to production" }).waitFor();
    const [made] = (await client.deployments.list()).data;
    await button(/^Undo/).click();
    await dialog.getByText(`deployments.create ${made?.id}`).waitFor();
    await submit("Undo").click();
    await dialog.waitFor({ state: "detached" });
    assert.deepEqual((await client.deployments.list()).data, []);

    await move();
    await other.goto(`${origin}/dashboard/faults`);
    await inOther("503 once").click();
    await other.getByRole("cell", { name: "503", exact: true }).waitFor();
    await button(/^Undo/).click();
    await dialog.getByText("POST /_svc/faults").waitFor();
    await submit("Undo").click();
    await dialog.waitFor({ state: "detached" });
    // What was undone does not count for the next move.
    await move();
    await button(/^Undo/).click();
    await clock.getByText("Nothing else changed").waitFor();
  });

  await suite.test("Undo knows a rollback of its own tab, and a move whose request it could not read", async (t) => {
    const { page, origin, button, submit, service, project, deploy } = await opened(t, "");
    const { id: parent } = await project();
    await deploy(parent);
    await service.clock.advance("1m");
    const { id } = await deploy(parent);
    await service.clock.advance("1m");
    await page.goto(`${origin}/dashboard/deployments/${id}`);
    const clock = page.getByLabel("Clock");
    await button("+10s").click();
    await page.locator("button:enabled", { hasText: "Undo" }).waitFor();
    await button("Roll back").click();
    await submit("Roll back").click();
    await page.waitForURL((url) => !url.pathname.endsWith(id));
    await button(/^Undo/).click();
    await clock.getByText(/^Undone: .*1 deployment goes/).waitFor();

    await page.route(/session\/requests/, (route) => route.abort(), { times: 1 });
    await button("+10s").click();
    await clock.getByText("back to 2026-01-01 00:02:00").waitFor({ state: "attached" });
    assert.equal(await clock.getByRole("alert").count(), 0);
    await button(/^Undo/).click();
    await clock.getByText("Nothing else changed").waitFor();
  });

  await suite.test("work of the pace manual is stepped on its page", async (t) => {
    const { page, origin, button, service, client, project, deploy } = await opened(t, "");
    await service.scenarios.next("deployment", { pace: "manual" });
    await service.scenarios.next("generation", { pace: "manual" });
    const { id: parent } = await project();
    const { id } = await deploy(parent);
    await service.settle();
    await page.goto(`${origin}/dashboard/deployments/${id}`);
    for (const state of ["building", "deploying", "active"]) {
      await button("Step").click();
      await page.locator(".facts .status").getByText(state).waitFor();
    }
    await button("Step").waitFor({ state: "detached" });
    const made = await client.generations.create({ model: "image-draft", prompt: "A lake" });
    await page.goto(`${origin}/dashboard/generations/${made.id}`);
    for (const state of ["in progress", "completed"]) {
      await button("Step").click();
      await page.locator(".facts .status").getByText(state).waitFor();
    }
    await button("Step").waitFor({ state: "detached" });
    const { id: timed } = await deploy(parent);
    await page.goto(`${origin}/dashboard/deployments/${timed}`);
    await button("Cancel deployment").waitFor();
    assert.equal(await button("Step").count(), 0, "other work goes on by itself");
  });
});
