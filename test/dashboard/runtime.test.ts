import assert from "node:assert/strict";
import { test } from "node:test";
import { browser, noBrowser } from "../helpers/browser.ts";
import { controlsOf, cutAt, dashboardPage, findingsOf } from "../helpers/dashboard-page.ts";
import { isLong } from "../helpers/properties.ts";
import { app, runtimeWorld } from "../helpers/running-apps.ts";

const skip = noBrowser || (!isLong && "npm run test:dashboard runs it");

test("Chromium: apps that really run", { skip }, async (suite) => {
  const { open } = await browser(suite);

  await suite.test("an environment shows what its app prints, its address, its restarts and its crashes", async (t) => {
    const here = await runtimeWorld(t);
    here.repos.commit("acme/web", app("one"));
    const { id } = await here.project("web");
    const { url } = await here.service.listen();
    const page = await dashboardPage(t, open, url, `/projects/${id}`);
    const { button, submit, fill, sees } = controlsOf(page);
    const output = page.locator(".lines");
    const starts = (version: string, count: number) =>
      output
        .getByText(`listening as ${version}`)
        .nth(count - 1)
        .waitFor();

    await button("Deploy").first().click();
    await fill("Environment", "production");
    await fill("Repository", "acme/web");
    await submit("Deploy");
    await page.waitForURL(/deployments/);
    await page.locator(".facts .status").getByText("active").waitFor();
    await output.getByText("acme/web", { exact: false }).first().waitFor();
    assert.deepEqual(await findingsOf(page), []);

    // The app prints, and answers at the address that the page shows.
    await page.goto(`${url}/dashboard/projects/${id}/production`);
    await starts("one", 1);
    const address = page.getByRole("link", { name: /^http:\/\/production-web\.localhost:\d+$/ });
    assert.equal(await here.ask(new URL((await address.getAttribute("href")) ?? "").host), "200 one");
    assert.equal(await address.getAttribute("rel"), "noreferrer noopener");

    // A restart is asked for here, a crash happens; both are seen without a reload.
    await button("Restart").click();
    await starts("one", 2);
    await here.ask("production-web.localhost", "/crash").catch(() => "");
    await sees("ended with the exit code 3");
    await starts("one", 3);

    // The next release takes over while the page is open, and takes its variables along.
    await button("Set a variable").click();
    await fill("Variable", "TOKEN");
    await fill("Value", "plain-text");
    await submit("Save");
    here.repos.commit("acme/web", app("two"));
    await here.release(id);
    await output.getByText("listening as two plain-text").waitFor();
    await button("Roll back").click();
    await page.waitForURL(/deployments/);
    await page.locator(".facts .status").getByText("active").waitFor();
    await page.goto(`${url}/dashboard/projects/${id}/production`);
    await starts("one", 4);
    assert.equal(await here.ask("production-web.localhost"), "200 one");
    assert.deepEqual(await findingsOf(page), []);
    for (const width of [390, 768, 1280]) assert.deepEqual(await cutAt(page, width), []);
  });

  await suite.test("the system page draws the process, and what cannot be copied says why", async (t) => {
    const here = await runtimeWorld(t);
    here.repos.commit("acme/web", app("one"));
    const { id } = await here.project("web");
    await here.release(id);
    const { url } = await here.service.listen();
    const page = await dashboardPage(t, open, url, "/system");
    await page.getByText("Memory").first().waitFor();
    await page
      .getByText(/^\d+ MB$/)
      .first()
      .waitFor();
    assert.deepEqual(await findingsOf(page), []);
    await page.goto(`${url}/dashboard/snapshots`);
    await page.getByRole("alert").getByText("start without --runtime", { exact: false }).waitFor();
    // The time axis needs no copy, nor does the clock.
    await page.goto(`${url}/dashboard/timeline`);
    await page.getByRole("application", { name: "Time axis" }).locator(".moment.good").first().waitFor();
    await page.getByRole("button", { name: "Look ahead" }).click();
    await page.getByRole("alert").getByText("start without --runtime", { exact: false }).waitFor();
    await page.getByRole("button", { name: "Freeze" }).click();
    await page.getByRole("button", { name: "+10s" }).click();
    await page.getByText("jobs ran").waitFor();
    assert.ok(await page.getByRole("button", { name: "Undo" }).isDisabled());
  });
});
