import assert from "node:assert/strict";
import { test } from "node:test";
import { browser, noBrowser } from "../helpers/browser.ts";
import { dashboardPage } from "../helpers/dashboard-page.ts";
import { isLong } from "../helpers/properties.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";

const lines = 9_990;

test("Chromium: scale", { skip: noBrowser || (!isLong && "npm run test:dashboard runs it") }, async (suite) => {
  const { open } = await browser(suite);

  await suite.test(
    "a log of 10,000 lines holds few elements, and is searched and linked to the last line",
    async (t) => {
      const { port, service, project, deploy } = await listeningWorld(t);
      const logs = Array.from({ length: lines }, (_, i) => ({
        level: "info" as const,
        message: `step ${i + 1} of many`,
      }));
      await service.scenarios.next("deployment", { logs });
      const { id } = await deploy((await project()).id);
      await service.clock.advance("1m");
      const page = await dashboardPage(t, open, `http://127.0.0.1:${port}`, `/deployments/${id}`);
      await page.getByText("10000 lines", { exact: true }).waitFor();
      const shown = page.locator(".line");
      await page.getByText("Deployment succeeded", { exact: false }).waitFor();
      await page.getByLabel("Search").fill(`step ${lines} of`);
      await page.getByText("1 found").waitFor();
      await page.keyboard.press("Enter");
      await page.locator(".line.chosen").getByText(`step ${lines} of many`).waitFor();
      await page.getByLabel("Search").fill("of many");
      await page.getByText(`${lines} found`).waitFor();

      await page.goto(`http://127.0.0.1:${port}/dashboard/deployments/${id}?line=9500`);
      const linked = page.locator(".line.linked");
      await linked.waitFor();
      assert.match((await linked.textContent()) ?? "", /^9500.*step \d{4} of many$/);
      assert.equal(await linked.isVisible(), true);
      await page.getByText("10000 lines", { exact: true }).waitFor();
      assert.ok((await shown.count()) < 120, `${await shown.count()} elements`);
      assert.equal(await linked.count(), 1, "more lines move nothing");
      // The number is within the window and nothing covers it: the element at its centre is the number itself.
      const isSeen = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
        const number = document.querySelector(".line.linked .number");
        const { left, top, width, height } = number.getBoundingClientRect();
        done(document.elementFromPoint(left + width / 2, top + height / 2) === number);
      })))`;
      for (const [width, height] of [
        [1280, 800],
        [1280, 400],
        [390, 800],
      ] as const)
        for (const line of [1, 9500, 10_000]) {
          await page.setViewportSize({ width, height });
          await page.goto(`http://127.0.0.1:${port}/dashboard/deployments/${id}?line=${line}`);
          await page.getByText("10000 lines", { exact: true }).waitFor();
          await linked.waitFor();
          assert.equal(await page.evaluate<boolean>(isSeen), true, `line ${line} at ${width} × ${height}`);
        }
    },
  );

  await suite.test("many deployments come by pages, and each is found once", async (t) => {
    const { port, project, deploy, service } = await listeningWorld(t);
    const { id } = await project();
    for (let i = 0; i < 120; i++) await deploy(id, { environment: `e${i % 3}` });
    const page = await dashboardPage(t, open, `http://127.0.0.1:${port}`, "/deployments");
    const links = page.locator(".rows tbody td:first-child a");
    const found = new Set<string>();
    for (const count of [50, 50, 20]) {
      await page
        .locator(".rows tbody tr")
        .nth(count - 1)
        .waitFor();
      await page.getByText("Loading…").waitFor({ state: "detached" });
      const before = found.size;
      for (const link of await links.all()) found.add((await link.getAttribute("title")) ?? "");
      assert.equal(found.size - before, count);
      if (count < 50) break;
      const [last] = [...found].slice(-1);
      await page.getByRole("button", { name: "Older" }).click();
      await page.getByTitle(last ?? "").waitFor({ state: "detached" });
    }
    // On an older page the list does not move while others deploy.
    const top = await links.first().getAttribute("title");
    await service.clock.advance("10s");
    await page.locator(".rows .status.active").first().waitFor();
    assert.equal(await links.first().getAttribute("title"), top);
    await page.getByRole("button", { name: "Newest" }).click();
    await page.locator(".rows tbody tr").nth(49).waitFor();
  });
});
