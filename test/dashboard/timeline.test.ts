import assert from "node:assert/strict";
import { test } from "node:test";
import { browser, noBrowser } from "../helpers/browser.ts";
import { cutAt, dashboardPage, findingsOf } from "../helpers/dashboard-page.ts";
import { isLong } from "../helpers/properties.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";
import { firstOf } from "../helpers/until.ts";

const skip = noBrowser || (!isLong && "npm run test:dashboard runs it");

test("Chromium: the time axis", { skip }, async (suite) => {
  const { open } = await browser(suite);

  await suite.test(
    "shows what happens as it happens; pans, zooms, goes from mark to mark and opens them",
    async (t) => {
      const { port, service, project, deploy, call } = await listeningWorld(t);
      const page = await dashboardPage(t, open, `http://127.0.0.1:${port}`, "/timeline");
      await page.getByText("Nothing has happened yet.", { exact: false }).waitFor();
      const { id: parent } = await project();
      const { id } = await deploy(parent);
      const plot = page.getByRole("application", { name: "Time axis" });
      await plot.locator(".bar.busy").first().waitFor();
      await call("owner", "GET", "/v1/projects/proj_0");
      await service.clock.advance("1m");
      await plot.locator(".moment.good").first().waitFor();
      assert.equal(await plot.locator(".bar").count(), 3);
      // The axis ends at this time.
      await page.getByLabel("Clock").locator("time").getByText("2026-01-01 00:01:00").waitFor();

      const ticks = () => plot.locator(".tick-text").allTextContents();
      const all = await ticks();
      // The page's policy forbids a script that looks again and again.
      const differs = (was: string[]) =>
        firstOf(async () => {
          const now = await ticks();
          return now.join() === was.join() ? undefined : now;
        });
      await plot.focus();
      await page.keyboard.press("+");
      const closer = await differs(all);
      for (let i = 0; i < 3; i++) await page.keyboard.press("ArrowLeft");
      await differs(closer);
      await page.keyboard.press("Home");
      await differs(closer);
      assert.deepEqual(await ticks(), all);
      const box = await plot.boundingBox();
      assert.ok(box);
      await page.mouse.move(box.x + 200, box.y + 40);
      await page.keyboard.down("Control");
      await page.mouse.wheel(0, -400);
      await page.keyboard.up("Control");
      const near = await differs(all);
      await page.mouse.down();
      await page.mouse.move(box.x + 640, box.y + 40, { steps: 3 });
      await page.mouse.up();
      await differs(near);
      await page.getByRole("button", { name: "All", exact: true }).click();
      await differs(near);

      await plot.focus();
      await page.keyboard.press("Shift+ArrowRight");
      const chosen = page.getByLabel("Chosen", { exact: true });
      await chosen.getByText("project.created").waitFor();
      await page.keyboard.press("Shift+ArrowRight");
      await chosen.getByText("POST /v1/projects 201").waitFor();
      await page.keyboard.press("Shift+ArrowRight");
      await chosen.getByText("queued", { exact: false }).waitFor();
      await page.keyboard.press("Enter");
      await page.waitForURL((url) => url.pathname.endsWith(id));
      await page.goBack();
      await plot.locator(".moment.good").first().click();
      await chosen.getByRole("link", { name: "Open" }).first().click();
      await page.waitForURL((url) => url.pathname.endsWith(id));
    },
  );

  await suite.test(
    "stands at the bottom of every page, and is neither loaded nor read while it is closed",
    async (t) => {
      const { port, service, project, deploy } = await listeningWorld(t);
      const { id: parent } = await project();
      const page = await dashboardPage(t, open, `http://127.0.0.1:${port}`, "/projects");
      const asked: string[] = [];
      page.on("request", (request) => asked.push(new URL(request.url()).pathname));
      const load = async () => {
        asked.length = 0;
        await page.reload();
        await page.getByRole("heading", { level: 1 }).waitFor();
        await page.waitForLoadState("networkidle");
      };
      const plot = page.getByRole("application", { name: "Time axis" });
      const button = page.getByLabel("Clock").getByRole("button", { name: "Time axis" });
      await load();
      const first = asked.filter((path) => path.endsWith(".js"));
      assert.equal(await button.getAttribute("aria-expanded"), "false");
      assert.equal(await plot.count(), 0);
      assert.ok(!asked.includes("/_svc/journal"));
      await button.click();
      await plot.locator(".moment").first().waitFor();
      assert.ok(asked.filter((path) => path.endsWith(".js")).length > first.length, "its code comes with it");

      // The plot stays while pages change, shows new moments, and links to them.
      await page.getByRole("link", { name: "Deployments", exact: true }).click();
      const { id } = await deploy(parent);
      await service.clock.advance("1m");
      await plot.locator(".moment.good").first().click();
      await page.getByLabel("States").getByText("active").waitFor();
      assert.equal(new URL(page.url()).pathname, "/dashboard/deployments");
      await plot.focus();
      await page.keyboard.press("Enter");
      await page.waitForURL((url) => url.pathname.endsWith(id));
      await page.getByRole("button", { name: "Look ahead" }).click();
      await page.getByText("0 entries", { exact: false }).waitFor();
      assert.deepEqual(await findingsOf(page), []);
      for (const width of [390, 768, 1280]) assert.deepEqual(await cutAt(page, width), []);

      // The plot stays open after a reload; the page of the timeline shows only its own.
      await load();
      await plot.waitFor();
      await page.getByRole("link", { name: "Timeline", exact: true }).click();
      await page.getByText("Drag, or", { exact: false }).waitFor();
      assert.equal(await plot.count(), 1);
      assert.ok(await button.isDisabled());
      await page.getByRole("link", { name: "Projects", exact: true }).click();
      await plot.waitFor();
      await page.keyboard.press("t");
      await plot.waitFor({ state: "detached" });
      await load();
      assert.deepEqual(asked.filter((path) => path.endsWith(".js")).sort(), first.sort());
    },
  );

  await suite.test("goes back in time to look, and ahead, and changes nothing", async (t) => {
    const { port, service, project, deploy } = await listeningWorld(t);
    const { id: parent } = await project();
    await deploy(parent);
    await service.clock.advance("2s");
    const { id: snapshot } = await service.snapshot({ name: "while it builds" });
    await service.clock.advance("1h");
    const { id: later } = await deploy(parent);
    const before = JSON.stringify([service.journal.list(), service.clock.now(), service.snapshots.list()]);
    const page = await dashboardPage(t, open, `http://127.0.0.1:${port}`, "/timeline?at=2026-01-01T00:00:02.500Z");
    const states = page.getByLabel("States");
    await states.getByText("building").waitFor();
    assert.equal(await states.getByRole("listitem").count(), 1);
    await page.getByRole("button", { name: "Open it as a fork" }).click();
    const link = page.getByRole("link", { name: "Look at fork_1" });
    const fork = await (
      await fetch((await link.getAttribute("href"))?.replace("/dashboard", "/_svc/clock") ?? "")
    ).json();
    assert.equal((fork as { now: string }).now, "2026-01-01T00:00:02.000Z");
    await page.getByRole("button", { name: "Back to now" }).click();
    await page.getByText("Click on the axis", { exact: false }).waitFor();

    await page.getByRole("button", { name: "Look ahead" }).click();
    const ahead = page.getByLabel("What would happen");
    await ahead.getByText("deployment.succeeded").waitFor();
    await page.locator(".bar.ahead").first().waitFor();
    assert.equal(JSON.stringify([service.journal.list(), service.clock.now(), service.snapshots.list()]), before);
    await page.getByRole("button", { name: "Go there" }).click();
    await ahead.waitFor({ state: "detached" });
    const { status } = await service.client({ apiKey: "sk_live_demo_owner" }).deployments.get({ id: later });
    assert.equal(status, "active");
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByLabel("Clock").locator("time").getByText("2026-01-01 01:00:02").waitFor();
    // The clock shows the time before the snapshot is deleted.
    await page.locator("button:disabled:not([aria-disabled])", { hasText: "Undo" }).waitFor();
    assert.deepEqual(
      service.snapshots.list().map(({ id }) => id),
      [snapshot],
    );
  });

  await suite.test("delivers in every order, and shows which answers differ", async (t) => {
    const { port, service, project } = await listeningWorld(t);
    const client = service.client({ apiKey: "sk_live_demo_owner" });
    const { id } = await client.webhooks.create({ url: "https://shop.inbox.test/hooks", events: ["project.created"] });
    for (const name of ["first", "second", "third"]) await project(name);
    await service.settle();
    const { data } = await client.webhooks.deliveries({ id });
    const [, , first] = data;
    assert.ok(first);
    const seen: string[] = [];
    service.webhooks.sink("shop", async (request) => {
      seen.push(request.headers.get("x-service-delivery") ?? "");
      const of = seen.slice(seen.length - 1 - ((seen.length - 1) % 3));
      return new Response(null, { status: of.includes(first.id) ? 200 : 409 });
    });
    const page = await dashboardPage(t, open, `http://127.0.0.1:${port}`, "/timeline");
    const before = JSON.stringify([service.journal.list(), service.inbox.list(), service.snapshots.list()]);
    const list = page.getByLabel("Deliveries to order");
    await list.getByRole("checkbox").nth(2).waitFor();
    assert.ok(await page.getByRole("button", { name: "Deliver in every order" }).isDisabled());
    for (const i of [0, 1, 2]) await list.getByRole("checkbox").nth(i).check();
    await page.getByRole("button", { name: "Deliver in 6 orders" }).click();
    await page.getByText("4 of 6 orders got different answers from the first.").waitFor();
    const matrix = page.locator(".matrix");
    assert.equal(await matrix.getByRole("row").count(), 7);
    assert.equal(await matrix.locator("td.differs").count(), 6);
    assert.equal(seen.length, 18);
    assert.equal(JSON.stringify([service.journal.list(), service.inbox.list(), service.snapshots.list()]), before);
    assert.deepEqual(await findingsOf(page), []);
    for (const width of [390, 1280]) assert.deepEqual(await cutAt(page, width), []);
    await page.getByLabel("Deliveries", { exact: true }).selectOption("muted");
    await page.getByRole("button", { name: "Deliver in 6 orders" }).click();
    await page.getByText("All 6 orders got the same answers.").waitFor();
    assert.equal(seen.length, 18);
    await page.getByRole("button", { name: "Forget", exact: true }).click();
    await matrix.waitFor({ state: "detached" });
  });

  await suite.test("a seeded run has the same bytes with and without the open page", async (t) => {
    const run = async (isWatched: boolean) => {
      const { port, service, project, deploy, call } = await listeningWorld(t);
      const page = isWatched ? await dashboardPage(t, open, `http://127.0.0.1:${port}`, "/timeline") : undefined;
      const watch = async (path: string) => {
        if (!page) return;
        await page.goto(`http://127.0.0.1:${port}/dashboard${path}`);
        await page.waitForLoadState("networkidle");
      };
      await call("owner", "POST", "/v1/webhooks", { url: "https://hook.inbox.test", events: ["*"] });
      service.inbox.script("hook", [500, 500]);
      const { id } = await project();
      await watch("/timeline");
      await page?.getByRole("button", { name: "Look ahead" }).click();
      await page?.getByLabel("What would happen").waitFor();
      await deploy(id);
      await service.clock.advance("5s");
      for (const path of ["/inbox", "/scenarios", "/faults", "/mail", "/snapshots"]) await watch(path);
      await service.clock.advance("3h");
      await call("owner", "POST", "/v1/users/invite", { email: "new@acme.test", role: "viewer" });
      const seen = [
        service.journal.list(),
        service.inbox.list(),
        await service.clock.upcoming(),
        await service.snapshot(),
      ];
      for (const path of ["/v1/events?per_page=100", "/v1/deployments", "/v1/api-keys", "/_svc/mail"])
        seen.push(
          (await call("owner", "GET", path, undefined, { "x-request-id": "same" })).text.replaceAll(
            String(port),
            "PORT",
          ) as never,
        );
      return JSON.stringify(seen).replaceAll(String(port), "PORT");
    };
    assert.equal(await run(true), await run(false));
  });
});
