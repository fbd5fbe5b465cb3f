import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createService } from "../../lib/index.ts";
import { browser, noBrowser } from "../helpers/browser.ts";
import { cutAt, dashboardPage, findingsOf } from "../helpers/dashboard-page.ts";
import { isLong } from "../helpers/properties.ts";
import { folderOf } from "../helpers/temporary-store.ts";
import { around, seed } from "../helpers/test-service.ts";

const skip = noBrowser || (!isLong && "npm run test:dashboard runs it");

test("Chromium: after a restart", { skip }, async (suite) => {
  const { open } = await browser(suite);

  const begin = async (t: TestContext, database: string, clock: string) => {
    const service = await createService({ database, clock, seed, random: "world", logLevel: "silent" });
    t.after(() => service.close());
    const { port } = await service.listen({ port: 0 });
    return { ...around(service), origin: `http://127.0.0.1:${port}` };
  };

  await suite.test("the time axis draws what the records say, and says what is not known", async (t) => {
    const database = join(folderOf(t), "svc.db");
    const first = await begin(t, database, "manual@2026-01-01T00:00:00Z");
    const { id: parent } = await first.project("shop");
    await first.deploy(parent);
    await first.service.clock.advance("1m");
    await first.service.clock.advance("3d");
    await first.deploy(parent);
    await first.service.clock.advance("1m");
    await first.service.close();

    const { origin, call, service } = await begin(t, database, "manual");
    const page = await dashboardPage(t, open, origin, "/timeline?at=2026-01-02T00:00:00.000Z");
    await page.getByRole("button", { name: "Deployments 1" }).waitFor();
    // Two deployments, three days apart: each as wide as what it took, and the idle days folded.
    const bars = page.locator(".axis .bar");
    assert.equal(await bars.count(), 2);
    for (const bar of await bars.all()) assert.ok(((await bar.locator("rect").boundingBox())?.width ?? 0) > 20);
    await page.locator(".axis .fold text").getByText("3 d 0 h").waitFor();
    // Now is in view.
    const plot = await page.getByRole("application", { name: "Time axis" }).boundingBox();
    const now = await page.locator(".axis line.now").boundingBox();
    assert.ok(plot && now && now.x > plot.x && now.x < plot.x + plot.width);
    await page.getByLabel("States", { exact: true }).getByText("active").waitFor();
    await page.getByText("Requests and attempts are known since", { exact: false }).waitFor();
    assert.deepEqual(await findingsOf(page), []);
    for (const width of [390, 1280, 2560]) assert.deepEqual(await cutAt(page, width), []);

    // A window without marks leads to where they are.
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.getByRole("application", { name: "Time axis" }).focus();
    for (let i = 0; i < 12; i++) await page.keyboard.press("ArrowRight");
    await page.getByText("Nothing in this window.").waitFor();
    await page.getByRole("button", { name: /^\d+ earlier$/ }).click();
    await page.getByText("Nothing in this window.").waitFor({ state: "detached" });

    // What comes now is drawn from the journal, once.
    await call("owner", "POST", "/v1/projects", { name: "second", region: "eu-west-1" });
    await service.clock.advance("1m");
    await page.getByRole("button", { name: "All", exact: true }).click();
    await page.getByRole("link", { name: "Requests", exact: true }).nth(1).waitFor();
    assert.equal(await bars.count(), 2);
  });

  await suite.test("a page says what a restart forgets, and that a moved clock is back", async (t) => {
    const database = join(folderOf(t), "svc.db");
    const first = await begin(t, database, "manual@2199-01-01T00:00:00Z");
    const { id: parent } = await first.project("shop");
    await first.deploy(parent);
    await first.service.close();
    const { origin } = await begin(t, database, "real");
    const page = await dashboardPage(t, open, origin);
    const notice = page.getByText("the clock of the database was", { exact: false });
    await notice.waitFor();
    assert.match((await notice.textContent()) ?? "", /^The clock .* ahead .*back to real time\. Waiting work keeps/);
    await page.locator(".chart").getByText("measured since", { exact: false }).waitFor();
    for (const name of ["Requests", "Inbox", "Snapshots", "Faults"]) {
      await page.getByRole("link", { name, exact: true }).click();
      await page.getByRole("heading", { level: 1, name }).waitFor();
      await page.getByText("Kept in memory since 2", { exact: false }).waitFor();
    }
    assert.deepEqual(await findingsOf(page), []);
    await page.getByRole("button", { name: "Got it" }).click();
    await notice.waitFor({ state: "detached" });
    await page.reload();
    await page.getByRole("heading", { level: 1, name: "Faults" }).waitFor();
    assert.equal(await notice.count(), 0);
    // What was made under the moved clock is ahead of this one.
    await page.getByRole("link", { name: "Deployments", exact: true }).click();
    await page.getByRole("cell", { name: /^in \d+ d \d+ h$/ }).waitFor();
  });
});
