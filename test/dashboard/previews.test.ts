import assert from "node:assert/strict";
import { test } from "node:test";
import { browser, noBrowser } from "../helpers/browser.ts";
import { controlsOf, dashboardPage } from "../helpers/dashboard-page.ts";
import { isLong } from "../helpers/properties.ts";
import { hook, pullRequest } from "../helpers/pull-requests.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";
import { expect } from "../helpers/test-service.ts";

test("Chromium", { skip: noBrowser || (!isLong && "npm run test:dashboard runs it") }, async (suite) => {
  const { open } = await browser(suite);

  await suite.test("previews are turned on in the form, and shown with their request until it closes", async (t) => {
    const here = await listeningWorld(t);
    const { id: project_id } = await here.project();
    const origin = `http://127.0.0.1:${here.port}`;
    const page = await dashboardPage(t, open, origin, "/integrations");
    const { button, submit, fill, choose, sees } = controlsOf(page);
    await button("New integration").click();
    await choose("Type", "code_host");
    await fill("Repository", "acme/web");
    await page.getByLabel("Deploy each pull request").check();
    await submit("Create");
    await page.getByRole("heading", { name: "acme/web (main → production)" }).waitFor();
    const [{ id }] = expect(await here.call("owner", "GET", "/v1/integrations"), 200).data;
    expect(await hook(here, id, pullRequest("opened", { from: "mallory/web" })), 202);
    await page.goto(`${origin}/dashboard/projects/${project_id}`);
    await sees("From a fork, so its pushes wait");
    const link = page.getByRole("link", { name: "Preview of request 7" });
    assert.equal(await link.getAttribute("href"), "https://code.example.com/acme/web/pulls/7");
    await button("Deploy this request").click();
    await page.waitForURL(/\/deployments\/dep_/);
    const path = new URL(page.url()).pathname.replace("/dashboard", "/v1");
    const { environment, source } = expect(await here.call("owner", "GET", path), 200);
    assert.deepEqual([environment, source.repo, source.branch], ["pr-7", "mallory/web", "topic"]);
    await page.goBack();
    await link.waitFor();
    expect(await hook(here, id, pullRequest("closed")), 202);
    await link.waitFor({ state: "detached" });
  });
});
