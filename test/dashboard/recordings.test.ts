import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Page } from "playwright-core";
import { browser, noBrowser } from "../helpers/browser.ts";
import { controlsOf, dashboardPage } from "../helpers/dashboard-page.ts";
import { temporaryFolder } from "../helpers/program.ts";
import { isLong } from "../helpers/properties.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";
import { fillBefore, type Prepared, passes } from "../helpers/recordings.ts";

const skip = noBrowser || (!isLong && "npm run test:dashboard runs it");
interface Recorded extends Prepared, ReturnType<typeof controlsOf> {
  readonly page: Page;
}

test("Chromium: recordings", { skip }, async (suite) => {
  const { open } = await browser(suite);
  const record = async (
    t: TestContext,
    act: (here: Recorded) => Promise<void>,
    prepare: (here: Prepared) => Promise<string>,
  ) => {
    const world = await listeningWorld(t);
    const client = world.service.client({ apiKey: "sk_live_demo_owner" });
    const path = await prepare({ ...world, client });
    const page = await dashboardPage(t, open, `http://127.0.0.1:${world.port}`, path);
    const controls = controlsOf(page);
    await controls.button("Record").click();
    await page.getByText("Recording: 0 calls").waitFor();
    await act({ ...world, client, page, ...controls });
    await controls.button("Stop").click();
    const text = await page.getByLabel("recorded.test.ts").textContent();
    assert.ok(text);
    assert.doesNotMatch(text, /hunter2|T0\/B0|_[0-9A-Z]{26}/, text);
    await passes(text);
    return text;
  };

  await suite.test("variables, secrets and domains of an older environment", async (t) => {
    const text = await record(
      t,
      async ({ button, submit, fill, choose, page }) => {
        await button("Set a variable").click();
        await fill("Variable", "TOKEN");
        await fill("Value", "hunter2");
        await choose("Kind", "secret");
        await submit("Save");
        await page.getByText("TOKEN").waitFor();
        // The tab goes on with its recording after a reload, and keeps no copy of it.
        page.on("dialog", (dialog) => void dialog.accept());
        await page.reload();
        await page.getByText("Recording: 1 call").waitFor();
        assert.equal(await page.evaluate('sessionStorage.getItem("svc-recording")'), null);
        await button("Edit domains").click();
        await fill("Host names", "www.example.com, example.com");
        await submit("Save");
        await page.getByRole("listitem").getByText("www.example.com").waitFor();
        await page.getByRole("link", { name: "shop" }).first().click();
        await button("Deploy").first().click();
        await fill("Repository", "acme/web");
        await submit("Deploy");
        await page.waitForURL(/deployments/);
        await button("+10s").click();
        await page.locator(".facts .status").getByText("active").waitFor();
      },
      async ({ client, service, project }) => {
        const { id } = await project("shop");
        const variables = { PORT: "8080", DATABASE_URL: { value: "postgres://hunter2@db", secret: true } };
        await client.environments.put({ id, name: "production", variables, domains: ["shop.example.com"] });
        await client.environments.put({ id, name: "empty", variables: {} });
        const source = { type: "git", repo: "acme/web" } as const;
        await client.deployments.create({ project_id: id, environment: "production", source });
        await service.clock.advance("1m");
        return `/projects/${id}/production`;
      },
    );
    assert.match(text, /PORT: "8080", DATABASE_URL: \{ value: secrets\.SECRET_DATABASE_URL, secret: true \}/);
    assert.match(text, /domains: \["shop\.example\.com"\]/);
    assert.match(text, /const secrets = \{.*SECRET_TOKEN: "placeholder"/);
  });

  await suite.test(
    "endpoints with secrets, their deliveries, keys, invitations and what has no state of its own",
    async (t) => {
      const text = await record(
        t,
        async ({ button, submit, fill, page }) => {
          const visit = async (name: string) => {
            await page.getByRole("link", { name, exact: true }).click();
            await page.getByRole("heading", { name, level: 1 }).waitFor();
          };
          // An older delivery, endpoints that were off, and a new endpoint.
          await button("Send again").click();
          await visit("Webhooks");
          await page.getByRole("link", { name: "https://old.inbox.test" }).click();
          await button("Turn on").click();
          await button("Turn off").waitFor();
          await visit("Integrations");
          await page.getByRole("link", { name: "#deploys" }).click();
          await button("Turn off").click();
          await button("Turn on").waitFor();
          await visit("Webhooks");
          await button("New webhook").click();
          await fill("URL", "https://new.inbox.test/hooks");
          await fill("Secret", "hunter2");
          await submit("Create");
          await page.getByRole("heading", { name: "https://new.inbox.test/hooks" }).waitFor();
          // An archived project, a key and an invitation.
          await visit("Projects");
          await page.getByRole("link", { name: "shelved" }).click();
          await button("Restore").click();
          await button("Archive").waitFor();
          await visit("API keys");
          await page.getByRole("row", { name: "ci" }).getByRole("button", { name: "Revoke" }).click();
          await submit("Revoke");
          await page.getByRole("row", { name: "ci" }).waitFor({ state: "detached" });
          await visit("People");
          await button("Send again").click();
          await visit("Mail");
          await page.locator(".entry").nth(1).waitFor();
          await button("Accept the invitation").click();
          await fill("Name", "Grace");
          await submit("Accept");
          await page.getByLabel("The API key of the new member").waitFor();
          // Work in progress, and scenarios.
          await visit("Scenarios");
          await button("Remove").click();
          await submit("Remove");
          await page.getByText("No scenario. Simulated", { exact: false }).waitFor();
          await visit("Deployments");
          await page.getByRole("row", { name: "building" }).getByRole("link").first().click();
          await button("Cancel deployment").click();
          await page.locator(".facts .status").getByText("cancelled").waitFor();
        },
        fillBefore,
      );
      assert.match(text, /SECRET_WEBHOOK_URL: "https:\/\/chat\.inbox\.test\/placeholder"/);
    },
  );

  await suite.test("work that ran before holds its slots in the test, and a stop waits for the clock", async (t) => {
    const text = await record(
      t,
      async ({ button, submit, fill, page }) => {
        await button("Deploy").first().click();
        await fill("Repository", "acme/fifth");
        await submit("Deploy");
        await page.waitForURL(/deployments/);
        // The recording stops while the clock is still moving.
        await page.evaluate(
          '[...document.querySelectorAll("button")].find((one) => one.textContent === "+10s").click()',
        );
      },
      async ({ client, service, project }) => {
        const { id } = await project("shop");
        await service.scenarios.add({ match: {}, outcome: { durations: { building: "1h" } }, times: 4 });
        for (const environment of ["one", "two", "three", "four"]) {
          const source = { type: "git", repo: "acme/web" } as const;
          await client.deployments.create({ project_id: id, environment, source });
        }
        await service.clock.advance("5s");
        return `/projects/${id}`;
      },
    );
    assert.match(text, /await service\.clock\.advance\("10s"\)/);
  });

  await suite.test("a recording becomes a test that passes", async (t) => {
    const { port, service, project, deploy } = await listeningWorld(t);
    const { id } = await project("old");
    await deploy(id);
    await service.clock.advance("1m");
    const { id: second } = await deploy(id);
    await service.clock.advance("1m");
    const page = await dashboardPage(t, open, `http://127.0.0.1:${port}`, `/deployments/${second}`);
    const button = (name: string | RegExp) => page.getByRole("button", { name, exact: true });
    const fill = (name: string, text: string) => page.getByLabel(name, { exact: true }).fill(text);
    const state = page.locator(".facts .status");
    await button("Record").click();
    await page.getByText("Recording: 0 calls").waitFor();
    await button("Roll back").click();
    await page.getByRole("dialog").getByRole("button", { name: "Roll back" }).click();
    await page.waitForURL((url) => !url.pathname.endsWith(second));
    await button("+10s").click();
    await state.getByText("active").waitFor();
    // No recording contains undone changes. The tab knows the way back before Undo, and its end before the next change.
    const clock = page.getByLabel("Clock");
    await button("+2h").click();
    await clock.getByText("back to 2026-01-01 00:02:10").waitFor({ state: "attached" });
    await button(/^Undo/).click();
    await clock.locator("time").getByText("2026-01-01 00:02:10").waitFor();
    await page.getByRole("link", { name: "Projects", exact: true }).click();
    for (const name of ["old", "new"]) {
      await button("New project").click();
      await fill("Name", name);
      await button("Create").click();
      if (name === "old") await page.getByRole("alert").waitFor();
      if (name === "old") await button("Close").click();
    }
    await page.getByRole("heading", { name: "new" }).waitFor();
    await button("Deploy").click();
    await fill("Repository", "acme/new");
    await page.getByRole("dialog").getByRole("button", { name: "Deploy" }).click();
    await state.getByText("queued").waitFor();
    await button("Cancel deployment").click();
    await state.getByText("cancelled").waitFor();
    await page.getByText("Recording: 6 calls").waitFor();
    await button("Stop").click();
    await page.getByLabel("recorded.test.ts").waitFor();
    await fill("Name of the test", "it's back");
    const [download] = await Promise.all([page.waitForEvent("download"), button("Save the test").click()]);
    assert.equal(download.suggestedFilename(), "recorded.test.ts");
    const file = join(temporaryFolder(t), "recorded.test.ts");
    await download.saveAs(file);
    const text = readFileSync(file, "utf8");
    assert.doesNotMatch(text, /_[0-9A-Z]{26}/, text);
    assert.doesNotMatch(text, /"2h"|snapshots/, text);
    for (const line of [
      'test("it\'s back", async (t) => {',
      "const deployment3 = await client.deployments.rollback({ id: deployment2.id });",
      'await service.clock.advance("10s");',
      'await assert.rejects(client.projects.create({ name: "old", region: "eu-west-1" }), { code: "name_taken" });',
      'assert.equal((await client.deployments.get({ id: deployment4.id })).status, "cancelled");',
    ])
      assert.ok(text.includes(line), text);
    await passes(text);
  });
});
