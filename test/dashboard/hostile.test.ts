import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import type { Service } from "../../lib/index.ts";
import { browser, noBrowser } from "../helpers/browser.ts";
import { dashboardPage, findingsOf } from "../helpers/dashboard-page.ts";
import { fillDashboard } from "../helpers/dashboard-world.ts";
import { isLong } from "../helpers/properties.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";

/** Elements, a script, a link, direction overrides, colours of a terminal. */
const hostile = `<img src=x onerror=alert(1)><script>alert(2)</script><a href="javascript:alert(3)">\u202Egnp.exe\u2066\u001b[31m`;
const short = "<img src=x onerror=alert(1)>\u202Egnp\u001b[31m";
const endless = "y".repeat(100_000);

/**
 * Makes records with texts as hostile and as long as the interface accepts. Returns the paths of pages that show them.
 */
async function fillHostile(service: Service<string | null>): Promise<string[]> {
  const client = service.client();
  service.webhooks.sink("hook", () => new Response(hostile + endless, { status: 500 }));
  const hook = await client.webhooks.create({ url: `https://hook.inbox.test/${"z".repeat(2000)}`, events: ["*"] });
  const channel = `${short}${"w".repeat(80 - short.length)}`;
  const chat = await client.integrations.create({
    type: "chat",
    config: { webhook_url: "https://chat.inbox.test/s", channel },
  });
  const push = await client.integrations.create({
    type: "code_host",
    config: { repo: "acme/web", branch: `b${"x".repeat(200)}`, environment: "production" },
  });
  const name = short + "n".repeat(64 - short.length);
  const { id: project } = await client.projects.create({ name, region: "eu", description: hostile });
  const value = hostile + "v".repeat(30_000);
  await client.environments.put({ id: project, name: "e".repeat(64), variables: { TOKEN: value } });
  await service.scenarios.add({
    match: { environment: "e*" },
    outcome: {
      result: "fail",
      at: "building",
      message: hostile,
      logs: [{ level: "error", message: hostile + endless }],
    },
  });
  const source = { type: "git", repo: "acme/web", branch: "main" } as const;
  const deployment = await client.deployments.create({ project_id: project, environment: "e".repeat(64), source });
  await service.scenarios.add({ match: { prompt: "*refuse*" }, outcome: { result: "fail", message: hostile } });
  const prompt = `refuse ${hostile}${"p".repeat(3000)}`;
  const generation = await client.generations.create({ model: "m".repeat(255), prompt, more: hostile + endless });
  await client.generations.create({ model: "image-draft", prompt: hostile, resolution: "512" });
  await client.keys.create({ name: short });
  await client.users.invite({ email: `${"g".repeat(60)}@acme.test`, role: "viewer" });
  const mails = (await (await service.fetch("/_svc/mail")).json()) as { data: { token: string }[] };
  await client.invitations.accept({ token: mails.data[0]?.token ?? "", name: short });
  await service.clock.advance("1m");
  const deliveries = await client.webhooks.deliveries({ id: hook.id });
  const posted = await client.integrations.deliveries({ id: chat.id });
  return [
    ...["", "/projects", "/deployments", "/generations", "/usage", "/webhooks", "/integrations", "/events", "/people"],
    ...["/keys", "/system", `/projects/${project}`, `/projects/${project}/${"e".repeat(64)}`],
    ...[`/deployments/${deployment.id}`, `/generations/${generation.id}`, `/webhooks/${hook.id}`],
    ...[`/webhooks/${hook.id}/${deliveries.data[0]?.id}`, `/integrations/${chat.id}`, `/integrations/${push.id}`],
    ...[`/integrations/${chat.id}/${posted.data[0]?.id}`, "/accept#<img src=x>", "/projects/%zz", "/webhooks/x/%3Cimg"],
  ];
}

interface Shown {
  readonly documentElement: { readonly scrollWidth: number; readonly clientWidth: number };
  querySelectorAll(selector: string): { readonly length: number };
}

/** Finds what no page may contain or do. */
async function wrongsOf(page: Page, path: string): Promise<string[]> {
  const found = await page.evaluate(() => {
    const { document } = globalThis as unknown as { document: Shown };
    const { scrollWidth, clientWidth } = document.documentElement;
    const elements = document.querySelectorAll(`img[src="x"], body script, [onerror], a[href^="javascript"]`).length;
    return { isTooWide: scrollWidth > clientWidth, elements };
  });
  return [
    ...(found.isTooWide ? [`${path} scrolls sideways at ${page.viewportSize()?.width}`] : []),
    ...(found.elements > 0 ? [`${path} made elements of text`] : []),
  ];
}

/** Opens a page and waits until it has all of its records. */
async function visit(page: Page, origin: string, path: string) {
  await page.goto(`${origin}/dashboard${path}`);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.waitForLoadState("networkidle");
}

test("Chromium", { skip: noBrowser || (!isLong && "npm run test:dashboard runs it") }, async (suite) => {
  const { open } = await browser(suite);

  await suite.test("every text is shown as the text that it is, on a narrow and a wide screen", async (t) => {
    const { port, service } = await listeningWorld(t);
    const origin = `http://127.0.0.1:${port}`;
    const paths = await fillHostile(service);
    const page = await dashboardPage(t, open, origin);
    const wrong: string[] = [];
    page.on("dialog", (dialog) => {
      wrong.push(`a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    for (const path of paths) {
      for (const width of [1440, 390]) {
        await page.setViewportSize({ width, height: 844 });
        await visit(page, origin, path);
        wrong.push(...(await wrongsOf(page, path)));
      }
      wrong.push(...(await findingsOf(page)));
    }
    assert.deepEqual(wrong, []);
    await visit(page, origin, paths.find((path) => path.startsWith("/projects/proj_")) ?? "");
    await page.getByText("<script>alert(2)</script>", { exact: false }).first().waitFor();
    await visit(page, origin, "/events");
    await page.locator("summary").getByText("project.created").click();
    await page.locator("details[open] pre").getByText("<img src=x onerror=alert(1)>").waitFor();
  });

  await suite.test("a viewer finds every button that writes disabled, with the reason", async (t) => {
    const { port, service } = await listeningWorld(t);
    const { project, hook, film, chat, delivery, running } = await fillDashboard(service);
    const origin = `http://127.0.0.1:${port}`;
    const page = await dashboardPage(t, open, origin);
    await page.getByLabel("Act as").selectOption({ label: "viewer, viewer of acme" });
    const harmless = /^(Copy.*|Download the log|Newest|Older|Previous|Next|\+\w+|New API key|Revoke|Sign out)$/;
    const wrong: string[] = [];
    const paths = ["/projects", `/projects/${project}`, `/projects/${project}/production`, "/generations", "/people"];
    const more = [
      "/webhooks",
      `/webhooks/${hook}`,
      "/integrations",
      `/integrations/${chat}`,
      `/deployments/${running}`,
    ];
    for (const path of [...paths, ...more, `/generations/${film}`, `/integrations/${chat}/${delivery}`]) {
      await visit(page, origin, path);
      for (const button of await page.locator("main button").all()) {
        const name = (await button.textContent()) ?? "";
        if (harmless.test(name)) continue;
        const reason = await button.getAttribute("aria-describedby");
        const text = reason === null ? "" : await page.locator(`[id="${reason}"]`).textContent();
        if (!(await button.isDisabled()) || !text) wrong.push(`${path}: ${name}`);
      }
      for (const select of await page.locator("main td select").all())
        if (!(await select.isDisabled())) wrong.push(`${path}: a choice`);
    }
    assert.deepEqual(wrong, []);
  });
});
