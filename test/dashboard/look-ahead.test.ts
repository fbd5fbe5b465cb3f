import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { browser, noBrowser } from "../helpers/browser.ts";
import { controlsOf, dashboardPage } from "../helpers/dashboard-page.ts";
import { isLong } from "../helpers/properties.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";

test("Chromium: what a look ahead finds", {
  skip: noBrowser || (!isLong && "npm run test:dashboard runs it"),
}, async (suite) => {
  const { open } = await browser(suite);

  const opened = async (t: TestContext) => {
    const here = await listeningWorld(t);
    const page = await dashboardPage(t, open, `http://127.0.0.1:${here.port}`, "/projects");
    return { ...here, page, ...controlsOf(page) };
  };

  await suite.test("what a look ahead found is the first that shows, and the axis shows that hour", async (t) => {
    const { page, button, service, project, deploy } = await opened(t);
    const { id } = await project();
    await deploy(id);
    await service.clock.advance("4d");
    await deploy(id);
    await button("Look ahead").click();
    const lines = page.getByLabel("What would happen").getByRole("listitem");
    await lines.nth(2).waitFor();
    const dock = await page.getByLabel("Timeline", { exact: true }).boundingBox();
    const third = await lines.nth(2).boundingBox();
    assert.ok(dock && third && third.y + third.height <= dock.y + dock.height, "three lines are in sight");
    const ticks = await page.locator(".tick-text").allTextContents();
    assert.ok(ticks.includes("00:30"), `${ticks}`);
  });

  await suite.test("a look ahead that ends after a move shows nothing, and the latest look is shown", async (t) => {
    const { page, button, project, deploy, service } = await opened(t);
    await deploy((await project()).id);
    await button("Look ahead").click();
    await button("Go there").waitFor();
    const held: (() => Promise<void>)[] = [];
    let onHeld = () => {};
    await page.route("**/_svc/preview", async (route) => {
      const response = await route.fetch();
      held.push(async () => {
        const answered = page.waitForResponse("**/_svc/preview").then((answer) => answer.finished());
        await route.fulfill({ response });
        await answered;
        await page.evaluate("new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))");
      });
      onHeld();
    });
    const choose = async (label: string) => {
      const isHeld = new Promise<void>((resolve) => {
        onHeld = resolve;
      });
      await page.getByLabel("Until", { exact: true }).selectOption({ label });
      await isHeld;
    };
    await choose("a day from now");
    await choose("10 s from now");
    const [day, tenSeconds] = held;
    const shown = page.getByText(/^Until .*00:00:10 UTC/);
    await tenSeconds?.();
    await shown.waitFor();
    await day?.();
    assert.equal(await shown.count(), 1);

    await choose("2 min from now");
    await button("Go there").click();
    await button("Go there").waitFor({ state: "detached" });
    assert.equal(service.clock.now().toISOString(), "2026-01-01T00:00:10.000Z");
    await held[2]?.();
    assert.equal(await button("Go there").count(), 0);
  });

  await suite.test("what a move did is said as what a look ahead found, and each entry by its name", async (t) => {
    const { page, button, service, project, deploy, call } = await opened(t);
    const { id } = await project("till");
    service.inbox.script("shop", [503]);
    await call("owner", "POST", "/v1/webhooks", { url: "https://shop.inbox.test/", events: ["deployment.succeeded"] });
    // More than one page of the interface holds.
    for (let i = 0; i < 101; i++) await deploy(id, { environment: `preview-${i}` });
    await button("Look ahead").click();
    await page.getByLabel("Until").selectOption({ label: "the end of all work" });
    // The look of an hour before it finds the same sentence.
    await page.getByText(/^Until \S+ (?!01:00:00)/).waitFor();
    await page
      .getByText(/^101 deployments succeed · \d+ deliveries are accepted · shop.inbox.test refuses 1 delivery\.$/)
      .waitFor();
    const entries = page.getByLabel("What would happen").getByRole("listitem");
    assert.equal(await entries.count(), 200);
    assert.deepEqual(await entries.filter({ hasNotText: /till|shop\.inbox\.test/ }).allTextContents(), []);
    await button("Go there").click();
    await button("Go there").waitFor({ state: "detached" });
    await deploy(id);
    await button("+10s").click();
    await page.getByText(/^\d+ jobs ran: 1 deployment succeeded · 1 delivery accepted$/).waitFor();
  });
});
