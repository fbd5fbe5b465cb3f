import assert from "node:assert/strict";
import { test } from "node:test";
import { browser, noBrowser } from "../helpers/browser.ts";
import { controlsOf, cutAt, dashboardPage, findingsOf } from "../helpers/dashboard-page.ts";
import { isLong } from "../helpers/properties.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";
import { expect } from "../helpers/test-service.ts";

test("Chromium: standing", { skip: noBrowser || (!isLong && "npm run test:dashboard runs it") }, async (suite) => {
  const { open } = await browser(suite);

  await suite.test("one deployment of an environment is live, and a failed one says why it failed", async (t) => {
    const { port, service, project, deploy } = await listeningWorld(t);
    const { id } = await project("shop");
    const source = { type: "git", repo: "acme/shop", branch: "main" };
    const first = await deploy(id, { source: { ...source, tag: "v1.0.0" } });
    await service.clock.advance("1m");
    await deploy(id, { source: { ...source, tag: "v2.0.0" } });
    await service.clock.advance("1m");
    await service.scenarios.next("deployment", { result: "fail", at: "building", message: "npm test ended with 1" });
    const failed = await deploy(id, { environment: "preview", source: { ...source, tag: "v3.0.0" } });
    await service.clock.advance("1m");

    const page = await dashboardPage(t, open, `http://127.0.0.1:${port}`, "/deployments");
    const { button, sees } = controlsOf(page);
    const row = (name: string) => page.getByRole("row").filter({ hasText: name });
    await row("v2.0.0").locator(".status").getByText("live").waitFor();
    await row("v1.0.0").locator(".status").getByText("replaced").waitFor();
    await row("v3.0.0").getByText("npm test ended with 1").waitFor();
    assert.deepEqual(await findingsOf(page), []);
    for (const width of [390, 1280]) assert.deepEqual(await cutAt(page, width), []);

    await page.getByTitle(failed.id).click();
    await sees("acme/shop branch main tag v3.0.0");
    await sees("Nothing is live in preview.");
    assert.equal(await page.locator("dt").getByText("Version").count(), 0);
    for (const name of ["Cancel deployment", "Roll back"]) assert.equal(await button(name).count(), 0, name);
    await page.goto(`http://127.0.0.1:${port}/dashboard/deployments/${first.id}`);
    await page.locator(".facts").getByRole("link", { name: "replaced by v2.0.0" }).click();
    await page.locator(".facts").getByText("live now").waitFor();
    await button("Roll back").waitFor();
  });

  await suite.test(
    "what comes is grey until it is reached, and a first release has nothing to go back to",
    async (t) => {
      const { port, service, project, deploy } = await listeningWorld(t);
      const { id: parent } = await project("shop");
      const { id } = await deploy(parent);
      const page = await dashboardPage(t, open, `http://127.0.0.1:${port}`, `/deployments/${id}`);
      const { button } = controlsOf(page);
      const coming = page.getByLabel("States", { exact: true }).locator(".coming .status");
      await coming.getByText("active", { exact: true }).waitFor();
      const colours = await coming.evaluateAll<string[], unknown>((all) =>
        all.map((one) => {
          const { getComputedStyle } = globalThis as unknown as { getComputedStyle(of: unknown): { color: string } };
          return getComputedStyle(one).color;
        }),
      );
      assert.deepEqual([colours.length, new Set(colours).size, await coming.locator("svg").count()], [3, 1, 0]);
      await service.clock.advance("1m");
      await page.locator(".facts").getByText("live now").waitFor();
      assert.ok(await button("Roll back").isDisabled());
      await page.getByTitle("Nothing was live here before.").waitFor();
      await deploy(parent);
      await service.clock.advance("1m");
      await page
        .locator(".facts")
        .getByRole("link", { name: /^replaced by/ })
        .click();
      await page.locator(".facts").getByText("live now").waitFor();
      assert.ok(await button("Roll back").isEnabled());
      await page.setViewportSize({ width: 390, height: 844 });
      const wide = await page
        .locator(".states small")
        .evaluateAll<boolean[], unknown>((all) =>
          (all as { scrollWidth: number; clientWidth: number }[]).map((one) => one.scrollWidth > one.clientWidth),
        );
      assert.deepEqual(wide, [false, false, false, false], "a time reaches into the next state");
    },
  );

  await suite.test("a receiver that fails is no good one, and an event says who received it", async (t) => {
    const { port, service, call, project, deploy } = await listeningWorld(t);
    const hook = { url: "https://shop.inbox.test/hooks", events: ["project.created", "deployment.queued"] };
    const { id: endpoint } = expect(await call("owner", "POST", "/v1/webhooks", hook), 201);
    const { id } = await project("till");
    await service.settle();
    service.inbox.script("shop", [503]);
    await deploy(id);
    await service.clock.advance("1s");
    const origin = `http://127.0.0.1:${port}`;
    const page = await dashboardPage(t, open, origin, "/webhooks");
    const row = (name: string) => page.getByRole("row").filter({ hasText: name });
    await row("shop.inbox.test").locator(".status").getByText("failing").waitFor();
    await page.goto(`${origin}/dashboard/webhooks/${endpoint}`);
    await row("deployment.queued").getByRole("cell", { name: "till, production" }).waitFor();
    await row("project.created").getByRole("cell", { name: "till", exact: true }).waitFor();
    for (const width of [390, 1280]) assert.deepEqual(await cutAt(page, width), []);
    await page.getByRole("link", { name: "deployment.queued" }).click();
    await page.getByRole("link", { name: "This webhook" }).click();
    await page.getByRole("heading", { level: 1, name: hook.url }).waitFor();

    await page.goto(`${origin}/dashboard/events`);
    await page.locator("summary").filter({ hasText: "deployment.queued" }).click();
    const received = row("shop.inbox.test");
    await received.getByText("503").waitFor();
    await received.getByRole("button", { name: "Send again" }).click();
    await service.settle();
    await received.locator(".status").getByText("succeeded").waitFor();
    await received.getByText("200").waitFor();
    assert.deepEqual(await findingsOf(page), []);
    for (const width of [390, 1280]) assert.deepEqual(await cutAt(page, width), []);
    await received.getByRole("link").click();
    await page.waitForURL(/webhooks\/wh_\w+\/dlv_\w+$/);
  });

  await suite.test("who deleted a record is said, and an identifier of a request opens it", async (t) => {
    const { port, call, project } = await listeningWorld(t);
    const { id } = await project("till");
    const invited = { email: "grace@acme.test", role: "developer" };
    expect(await call("owner", "POST", "/v1/users/invite", invited), 201);
    const page = await dashboardPage(t, open, `http://127.0.0.1:${port}`, `/projects/${id}`);
    const { button, sees } = controlsOf(page);
    await button("Edit").click();
    await page.getByLabel("Name", { exact: true }).fill("another");
    expect(await call("admin", "DELETE", `/v1/projects/${id}`), 204);
    await sees("admin deleted it just now");
    assert.deepEqual(await findingsOf(page), []);
    await page.getByRole("main").getByRole("link", { name: "audit log" }).click();
    await page.getByRole("cell", { name: "projects.delete" }).waitFor();

    await page.goto(`http://127.0.0.1:${port}/dashboard/audit-log?action=users.invite`);
    await page.getByRole("link", { name: invited.email }).waitFor();
    const headers = { "x-request-id": "req_01KAJK2M00DXV0000000000000" };
    const { headers: sent } = await call("owner", "POST", "/v1/projects", { name: "x" }, headers);
    await page.keyboard.press("Control+k");
    await page.locator(".palette input").fill(sent.get("x-request-id") ?? "");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "POST /v1/projects" }).waitFor();

    await page.goto(`http://127.0.0.1:${port}/dashboard/projects`);
    await project("kiosk");
    await page.setViewportSize({ width: 390, height: 844 });
    const label = page.getByRole("cell", { name: "just now" });
    await label.waitFor();
    assert.match(
      await label.evaluate<string, unknown>((one) => {
        const { getComputedStyle } = globalThis as unknown as {
          getComputedStyle(of: unknown, part: string): { content: string };
        };
        return getComputedStyle(one, "::before").content;
      }),
      /data-label|Created/,
    );
    await button("New project").click();
    await page.locator('datalist option[value="eu-west-1"]').waitFor({ state: "attached" });
  });
});
