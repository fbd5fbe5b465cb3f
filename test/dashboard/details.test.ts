import assert from "node:assert/strict";
import { test } from "node:test";
import { browser, noBrowser } from "../helpers/browser.ts";
import { controlsOf, cutAt, dashboardPage, findingsOf } from "../helpers/dashboard-page.ts";
import { fillDashboard } from "../helpers/dashboard-world.ts";
import { isLong } from "../helpers/properties.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";
import { expect } from "../helpers/test-service.ts";

test("Chromium: details", { skip: noBrowser || (!isLong && "npm run test:dashboard runs it") }, async (suite) => {
  const { open } = await browser(suite);

  await suite.test(
    "small things: focus after Older, a first attempt, a suspended person's name, one line",
    async (t) => {
      const { port, service, call, project, deploy } = await listeningWorld(t);
      const hook = { url: "https://shop.inbox.test/hooks", events: ["*"] };
      const { id: endpoint } = expect(await call("owner", "POST", "/v1/webhooks", hook), 201);
      const { id } = await project("shop");
      const { data: pending } = expect(await call("owner", "GET", `/v1/webhooks/${endpoint}/deliveries`), 200);
      const origin = `http://127.0.0.1:${port}`;
      const page = await dashboardPage(t, open, origin, `/webhooks/${endpoint}/${pending[0].id}`);
      await page.getByText("x-service-attempt: 1").waitFor();

      const { id: deployment } = await deploy(id);
      await page.goto(`${origin}/dashboard/deployments/${deployment}`);
      await page.getByText("1 line", { exact: true }).waitFor();

      const { data: users } = expect(await call("owner", "GET", "/v1/users"), 200);
      const viewer = users.find(({ role }: { role: string }) => role === "viewer");
      expect(await call("owner", "POST", `/v1/users/${viewer.id}/suspend`), 200);
      await page.goto(`${origin}/dashboard/keys`);
      await page.getByRole("row").filter({ hasText: "viewer" }).getByRole("cell", { name: "viewer" }).nth(1).waitFor();
      assert.equal(await page.getByText(viewer.id).count(), 0);

      for (let i = 0; i < 50; i++) await project(`shop ${i}`);
      await service.settle();
      await page.goto(`${origin}/dashboard/projects`);
      await page.getByRole("button", { name: "Older" }).click();
      await page.getByRole("button", { name: "Newest" }).waitFor();
      assert.equal(await page.evaluate<string>("document.activeElement.textContent"), "Projects");
    },
  );

  await suite.test("variables change one by one, and a log is filtered, wrapped and downloaded", async (t) => {
    const { port, service, call } = await listeningWorld(t);
    const { project, failed } = await fillDashboard(service);
    const origin = `http://127.0.0.1:${port}`;
    const page = await dashboardPage(t, open, origin, `/projects/${project}/production`);
    const { submit, fill } = controlsOf(page);
    const row = page.getByRole("row").filter({ hasText: "PORT" });
    await row.getByRole("button", { name: "Change" }).click();
    // What somebody else sets meanwhile stays.
    const path = `/v1/projects/${project}/environments/production`;
    expect(await call("owner", "PATCH", path, { variables: { LATER: "1" } }), 200);
    await fill("Value", "9090");
    await submit("Save");
    await row.getByText("9090").waitFor();
    await page.getByRole("rowheader", { name: "LATER" }).waitFor();
    await row.getByRole("button", { name: "Remove" }).click();
    await submit("Remove");
    await row.waitFor({ state: "detached" });
    const { data } = expect(await call("owner", "GET", `/v1/projects/${project}/environments`), 200);
    const { variables } = data.find(({ name }: { name: string }) => name === "production");
    assert.deepEqual(variables, { DATABASE_URL: { secret: true }, LATER: "1" });

    await page.goto(`${origin}/dashboard/deployments/${failed}?line=58`);
    const linked = page.locator(".line.linked");
    await linked.waitFor();
    const middle = await page.evaluate<number>(
      "(document.querySelector('.line.linked').getBoundingClientRect().top + 10) / innerHeight",
    );
    assert.ok(middle > 0.2 && middle < 0.8, `line 58 is at ${middle} of the window`);
    await page.getByLabel("Level").selectOption("warn");
    await page.locator(".line.info").first().waitFor({ state: "detached" });
    await page.locator(".line").getByText("step 20:").waitFor();
    await page.getByLabel("Level").selectOption("");
    await page.getByRole("checkbox", { name: "Wrap" }).check();
    await page.locator(".wrapped .line").getByText("98000 more characters").waitFor();
    assert.deepEqual(await cutAt(page, 1280), []);
    assert.deepEqual(await findingsOf(page), []);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download the log" }).click(),
    ]);
    assert.equal(download.suggestedFilename(), `deployment-${failed}.log`);
  });

  await suite.test("lanes of the time axis have names, and a group of them closes", async (t) => {
    const { port, service, project, deploy } = await listeningWorld(t);
    await deploy((await project("till")).id);
    await service.clock.advance("1m");
    const page = await dashboardPage(t, open, `http://127.0.0.1:${port}`, "/timeline");
    const plot = page.getByRole("application", { name: "Time axis" });
    const lanes = page.locator(".axis-titles");
    await lanes.getByRole("link", { name: "till · production" }).waitFor();
    await plot.locator(".bar").nth(2).waitFor();
    await lanes.getByRole("button", { name: "Deployments 1" }).click();
    await plot.locator(".bar").first().waitFor({ state: "detached" });
    await lanes.getByRole("button", { name: "Deployments 1" }).click();
    await plot.locator(".bar").nth(2).waitFor();
    assert.deepEqual(await findingsOf(page), []);
  });
});
