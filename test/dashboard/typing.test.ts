import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Page } from "playwright-core";
import { browser, noBrowser } from "../helpers/browser.ts";
import { controlsOf, dashboardPage } from "../helpers/dashboard-page.ts";
import { fillDashboard } from "../helpers/dashboard-world.ts";
import { isLong } from "../helpers/properties.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";

/** Holds the requests that match, from now on until `release`. */
async function held(page: Page, methods: readonly string[]) {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route(/\/(dashboard\/api|dashboard\/session|_svc)\//, async (route) => {
    if (methods.includes(route.request().method())) await released;
    await route.continue().catch(() => {});
  });
  return release;
}

test("Chromium: what is typed stays, however late the data come", {
  skip: noBrowser || (!isLong && "npm run test:dashboard runs it"),
}, async (suite) => {
  const { open } = await browser(suite);

  const opened = async (t: TestContext, path = "") => {
    const here = await listeningWorld(t);
    const page = await dashboardPage(t, open, `http://127.0.0.1:${here.port}`, path);
    return { ...here, page, client: here.service.client(), ...controlsOf(page) };
  };

  await suite.test("a delivery or a mail that arrives leaves the open one, and its forms, as they are", async (t) => {
    const { page, client, service, project, button, fill } = await opened(t, "/inbox");
    await client.webhooks.create({ url: "https://shop.inbox.test/hooks", events: ["*"], secret: "hush" });
    await project("one");
    await service.settle();
    await page.getByRole("heading", { name: "project.created" }).waitFor();
    await fill("Secret", "hush");
    await client.webhooks.test({ id: (await client.webhooks.list()).data[0]?.id ?? "" });
    await service.settle();
    await page.locator(".entry").nth(1).waitFor();
    assert.equal(await page.getByLabel("Secret", { exact: true }).inputValue(), "hush");

    await client.users.invite({ email: "first@acme.test", role: "viewer" });
    await page.goto(`${new URL(page.url()).origin}/dashboard/mail`);
    await button("Accept the invitation").click();
    await fill("Name", "First");
    await client.users.invite({ email: "second@acme.test", role: "viewer" });
    await page.locator(".entry").getByText("second@acme.test").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Accept" }).click();
    await page.getByLabel("The API key of the new member").waitFor();
    assert.ok(
      (await client.users.list()).data.some(({ email, name }) => email === "first@acme.test" && name === "First"),
    );
  });

  await suite.test("the palette keeps what the arrow keys chose, and Enter does not wait for the rest", async (t) => {
    const { page, project } = await opened(t, "/events");
    await project("web");
    await page.waitForLoadState("networkidle");
    const release = await held(page, ["GET"]);
    await page.keyboard.press("Control+k");
    await page.keyboard.type("web");
    await page.keyboard.press("ArrowDown");
    const chosen = page.locator('.palette [aria-selected="true"]');
    const name = await chosen.locator("bdi").textContent();
    release();
    await page.getByRole("option", { name: "web project", exact: true }).waitFor();
    assert.equal(await chosen.locator("bdi").textContent(), name);
    await page.keyboard.press("Escape");

    const never = await held(page, ["GET"]);
    await page.keyboard.press("Control+k");
    await page.keyboard.type("nothing of this name");
    await page.getByRole("dialog").getByText("Loading…").waitFor();
    await page.keyboard.press("Control+a");
    await page.keyboard.type("e");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    never();
  });

  await suite.test("a form that was closed while it is sent loses nothing that is typed next", async (t) => {
    const { page, button, submit, fill, service } = await opened(t, "/projects");
    await page.waitForLoadState("networkidle");
    const release = await held(page, ["POST"]);
    await button("New project").click();
    await fill("Name", "first");
    await submit("Create");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.locator('button[aria-disabled="true"]:focus', { hasText: "New project" }).waitFor();
    await page.keyboard.press("Enter");
    assert.equal(await page.getByRole("dialog").count(), 0, "it is still being sent");
    release();
    await page.getByRole("heading", { name: "first" }).waitFor();
    assert.equal((await service.client().projects.list()).data.length, 1);
  });

  await suite.test(
    "a late refusal leaves the focus where somebody types, and stands beside a closed form",
    async (t) => {
      const { page, button, submit, fill } = await opened(t, "/projects");
      await page.waitForLoadState("networkidle");
      const release = await held(page, ["POST"]);
      await button("New project").click();
      await fill("Name", "x");
      await submit("Create");
      await page.getByLabel("Description", { exact: true }).pressSequentially("The sh");
      release();
      await page.getByRole("alert").waitFor();
      await page.keyboard.type("op");
      assert.equal(await page.getByLabel("Description", { exact: true }).inputValue(), "The shop");
      const again = await held(page, ["POST"]);
      await submit("Create");
      await page.keyboard.press("Escape");
      again();
      await page.locator(".page-head").getByRole("alert").waitFor();
    },
  );

  await suite.test("every form takes what is typed before the rest of its page has come", async (t) => {
    const { page, service, port } = await opened(t);
    const { project, hook, chat } = await fillDashboard(service);
    const places = ["/projects", `/projects/${project}`, `/projects/${project}/production`, "/generations"];
    const more = ["/webhooks", `/webhooks/${hook}`, "/integrations", `/integrations/${chat}`, "/people", "/keys"];
    const wrong: string[] = [];
    for (const path of [...places, ...more, "/inbox", "/scenarios", "/faults", "/snapshots"]) {
      await page.goto(`http://127.0.0.1:${port}/dashboard${path}`);
      await page.waitForLoadState("networkidle");
      const triggers = page.locator("main button:enabled", {
        hasText: /^(New|Edit|Set|Invite|Delete|Change|Take|Add|Run)/,
      });
      for (const trigger of await triggers.all()) {
        const name = `${path} ${await trigger.textContent()}`;
        const release = await held(page, ["GET"]);
        await trigger.click();
        const field = page.getByRole("dialog").locator("input:not([type=checkbox]), textarea").first();
        if ((await field.count()) > 0) {
          await field.press("Control+a");
          await field.pressSequentially("typed");
          await service.snapshot();
          release();
          await page.waitForLoadState("networkidle");
          if ((await field.inputValue()) !== "typed") wrong.push(name);
        }
        release();
        await page.unrouteAll({ behavior: "wait" });
        await page.keyboard.press("Escape");
        await page.getByRole("dialog").waitFor({ state: "detached" });
      }
    }
    assert.deepEqual(wrong, []);
  });
});
