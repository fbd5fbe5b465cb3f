import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import Database from "better-sqlite3";
import { browser, noBrowser } from "../helpers/browser.ts";
import { controlsOf, cutAt, dashboardPage, findingsOf } from "../helpers/dashboard-page.ts";
import { temporaryFolder } from "../helpers/program.ts";
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
    const { button, submit, fill, choose, sees } = controlsOf(page);
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

    // The app prints output and responds at the address that the page shows.
    await page.goto(`${url}/dashboard/projects/${id}/production`);
    await starts("one", 1);
    const address = page.getByRole("link", { name: /^http:\/\/production-web\.localhost:\d+$/ });
    assert.equal(await here.ask(new URL((await address.getAttribute("href")) ?? "").host), "200 one");
    assert.equal(await address.getAttribute("rel"), "noreferrer noopener");

    // The page shows a requested restart and a crash without a reload.
    await button("Restart").click();
    await starts("one", 2);
    await here.ask("production-web.localhost", "/crash").catch(() => "");
    await sees("ended with the exit code 3");
    await starts("one", 3);

    // The next release takes over while the page is open, with its variables.
    await button("Set a variable").click();
    await fill("Variable", "TOKEN");
    await fill("Value", "plain-text");
    // The name makes it a secret, which the log would hide.
    await choose("Kind", "plain");
    await submit("Save");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    here.repos.commit("acme/web", app("two"));
    const two = await here.release(id);
    await output.getByText("listening as two plain-text").waitFor();
    // The page rolls back what it shows as live.
    await page.locator(`.facts a[href$="${two.id}"]`).waitFor();
    await button("Roll back").click();
    await page.getByRole("dialog").getByRole("button", { name: "Roll back" }).click();
    await page.waitForURL(/deployments/);
    await page.locator(".facts .status").getByText("active").waitFor();
    await page.goto(`${url}/dashboard/projects/${id}/production`);
    await starts("one", 4);
    assert.equal(await here.ask("production-web.localhost"), "200 one");
    assert.deepEqual(await findingsOf(page), []);
    for (const width of [390, 768, 1280]) assert.deepEqual(await cutAt(page, width), []);
  });

  await suite.test(
    "an environment shows its data, workers, runs and protection, and a failed build its reason",
    async (t) => {
      const database = join(temporaryFolder(t), "svc.db");
      const before = await runtimeWorld(t, { database });
      before.repos.commit("acme/web", {
        ...app("one"),
        Procfile: "queue: sleep 1000",
        "svc.json": { schedules: [{ name: "tick", cron: "0 0 1 1 *", command: "echo first; echo second; exit 3" }] },
      });
      const { id } = await before.project("web");
      await before.release(id);
      await before.service.close();
      // The schedule missed a run.
      const file = new Database(database);
      file.prepare("update schedules set next_at = '2026-01-01T00:00:00.000Z'").run();
      file.close();
      const here = await runtimeWorld(t, { database, codeHost: { repos: before.repos.root } });
      const { url } = await here.service.listen();
      const page = await dashboardPage(t, open, url, `/projects/${id}/production`);
      const { button, submit, fill, sees } = controlsOf(page);
      await page.locator(".tag").getByText("queue").waitFor();
      await page.getByRole("row").filter({ hasText: "failed" }).waitFor();
      await button("Output").click();
      await page.getByLabel("Output of tick").getByText("second", { exact: false }).waitFor();
      await button("Protect").click();
      await fill("User", "ann");
      await fill("Password", "one two");
      await submit("Save");
      await sees("Visitors sign in as");
      assert.match(await here.ask("production-web.localhost"), /^401/);
      assert.deepEqual(await findingsOf(page), []);
      for (const width of [390, 1280]) assert.deepEqual(await cutAt(page, width), []);
      await button("Remove protection").click();
      await submit("Remove protection");
      await sees("Anyone who has the address");
      assert.match(await here.ask("production-web.localhost"), /^200/);

      await page.goto(`${url}/dashboard/projects/${id}`);
      await button("Deploy a folder").click();
      const commands = page.getByRole("dialog");
      await commands.getByText(`--url ${url}`, { exact: false }).waitFor();
      await commands.getByText(`@${new URL(url).host}/git/me/web.git`, { exact: false }).waitFor();
      assert.deepEqual(await findingsOf(page), []);
      for (const width of [390, 1280]) assert.deepEqual(await cutAt(page, width), []);

      before.repos.commit("acme/web", {
        "svc.json": { schedules: [{ name: "never", cron: "0 0 30 2 *", command: "true" }] },
      });
      const failed = await here.release(id);
      await page.goto(`${url}/dashboard/deployments/${failed.id}`);
      await page.locator(".reason").getByText("never fires: no such day exists", { exact: false }).waitFor();
      await sees("What ran before keeps running");
    },
  );

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
    // The time axis and the clock work without a fork.
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
