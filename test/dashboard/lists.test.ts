import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { browser, noBrowser } from "../helpers/browser.ts";
import { dashboardPage } from "../helpers/dashboard-page.ts";
import { fillDashboard } from "../helpers/dashboard-world.ts";
import { isLong } from "../helpers/properties.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";

test("Chromium: lists", { skip: noBrowser || (!isLong && "npm run test:dashboard runs it") }, async (suite) => {
  const { open } = await browser(suite);

  const opened = async (t: TestContext, path: string) => {
    const here = await listeningWorld(t);
    const made = await fillDashboard(here.service);
    const origin = `http://127.0.0.1:${here.port}`;
    return { ...here, ...made, origin, page: await dashboardPage(t, open, origin, path) };
  };

  await suite.test("events stand in columns, in rows of one line", async (t) => {
    const { page } = await opened(t, "/events");
    const rows = page.locator("summary");
    await rows.nth(3).waitFor();
    const edges = new Set<number>();
    for (const row of (await rows.all()).slice(0, 8)) {
      const time = await row.locator("time").boundingBox();
      edges.add(Math.round((time?.x ?? 0) + (time?.width ?? 0)));
      assert.ok(((await row.boundingBox())?.height ?? 99) <= 40, `${await row.textContent()}`);
    }
    assert.equal(edges.size, 1, "the times end at one edge");
  });

  await suite.test("a click anywhere on a row opens its record, and a button in it stays a button", async (t) => {
    const { page, hook, origin } = await opened(t, "/deployments");
    await page.getByRole("row").nth(1).getByText("preview").click({ force: true });
    await page.getByRole("heading", { level: 1, name: "checkout to preview" }).waitFor();
    await page.getByRole("link", { name: "All deployments" }).click();
    await page.getByRole("row").nth(1).getByRole("button", { name: "Redeploy" }).click();
    await page.getByRole("dialog", { name: "Redeploy" }).waitFor();
    await page.goto(`${origin}/dashboard/webhooks/${hook}`);
    await page.getByRole("row").nth(1).locator(".status").click({ force: true });
    await page.waitForURL(/webhooks\/wh_\w+\/dlv_\w+$/);
  });

  await suite.test(
    "the list of projects shows what was deployed last, and a project begins with production",
    async (t) => {
      const { page, project, service } = await opened(t, "/projects");
      const client = service.client();
      await client.environments.put({ id: project, name: "a-branch", variables: {} });
      await page
        .getByRole("row", { name: /checkout/ })
        .getByRole("link", { name: "preview" })
        .waitFor();
      await page.getByRole("link", { name: "checkout", exact: true }).click();
      await page.getByRole("heading", { level: 3 }).nth(3).waitFor();
      const names = await page.getByRole("heading", { level: 3 }).allTextContents();
      assert.deepEqual([names[0], names.includes("a-branch")], ["production", true]);
      const staging = page.getByRole("article").filter({ has: page.getByRole("heading", { name: "staging" }) });
      await staging.locator(".status.failed").waitFor();
    },
  );

  await suite.test("a delivery that only waits for a standing clock says so", async (t) => {
    const { page, hook, service } = await opened(t, "");
    const { data } = await service.client().webhooks.deliveries({ id: hook });
    await page.goto(`${page.url()}/webhooks/${hook}/${data[0]?.id}`);
    await page.getByRole("button", { name: "Send again" }).click();
    await page.getByText("The clock stands", { exact: false }).waitFor();
    await page.getByText("It is not signed", { exact: false }).waitFor();
  });

  await suite.test("the palette finds a deployment by words, in any order", async (t) => {
    const { page, failed } = await opened(t, "/events");
    await page.keyboard.press("Control+k");
    await page.keyboard.type("failed staging checkout");
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/deployments/${failed}`);
    await page.getByText("nothing is built and nothing runs", { exact: false }).first().waitFor();
    // From the reason to its line.
    await page.getByRole("link", { name: /^Line \d+ of the log$/ }).click();
    await page.locator(".line.linked.error").waitFor();
  });

  await suite.test("the palette finds a request by the identifier of an error", async (t) => {
    const { page, send } = await opened(t, "/events");
    const { meta } = (await send("POST", "/v1/projects", { body: "{}" })).body;
    await page.keyboard.press("Control+k");
    await page.keyboard.type(meta.request_id);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "POST /v1/projects" }).waitFor();
    await page.locator("dd").getByText(meta.request_id).waitFor();
  });

  await suite.test("an arrow key makes nobody an owner: the page asks", async (t) => {
    const { page, service } = await opened(t, "/people");
    const roles = async () => (await service.client().users.list()).data.map(({ role }) => role).sort();
    const before = await roles();
    await page.getByLabel("Role of viewer").selectOption("owner");
    await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
    assert.equal(await page.getByLabel("Role of viewer").inputValue(), "viewer");
    assert.deepEqual(await roles(), before);
    await page.getByLabel("Role of viewer").selectOption("owner");
    await page.getByRole("dialog").getByRole("button", { name: "Make owner" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.locator("option:checked", { hasText: "owner" }).nth(1).waitFor({ state: "attached" });
  });

  await suite.test("Back returns to the filter, the page and the place of a list", async (t) => {
    const { port, service, project, deploy } = await listeningWorld(t);
    const { id } = await project("shop");
    for (let i = 0; i < 60; i++) await deploy(id);
    await service.settle();
    const origin = `http://127.0.0.1:${port}`;
    const page = await dashboardPage(t, open, origin, "/projects");
    await page.getByRole("link", { name: "Deployments", exact: true }).click();
    await page.getByLabel("Environment").fill("production");
    await page.waitForURL(/environment=production/);
    const left = 1500;
    /** Opens a deployment in the middle of the list, comes back, and sees whether the list stands where it stood. */
    const comesBack = async (back: () => Promise<unknown>) => {
      await page.getByRole("row").nth(35).waitFor();
      const search = new URL(page.url()).search;
      await page.evaluate(`scrollTo(0, ${left})`);
      const link = page.getByRole("row").nth(35).getByRole("link").first();
      const href = await link.getAttribute("href");
      await link.dispatchEvent("click");
      await page.getByLabel("States", { exact: true }).waitFor();
      await back();
      // The link to what was looked at has the focus.
      await page.locator(`a:focus[href="${href}"]`).waitFor();
      assert.equal(await page.evaluate<number>("scrollY"), left);
      assert.equal(new URL(page.url()).search, search);
    };
    await comesBack(() => page.goBack());
    await comesBack(() => page.getByRole("link", { name: "All deployments" }).click());
    const first = await page.getByRole("row").nth(1).getByRole("link").first().getAttribute("href");
    await page.getByRole("button", { name: "Older" }).click();
    await page.getByRole("button", { name: "Newest" }).waitFor();
    await page.getByRole("row").nth(1).waitFor();
    const older = await page.getByRole("row").nth(1).getByRole("link").first().getAttribute("href");
    assert.notEqual(older, first);
    await page.goBack();
    await page.locator(`a[href="${first}"]`).waitFor();
    assert.match(page.url(), /environment=production$/);
    await page.goForward();
    await page.locator(`a[href="${older}"]`).waitFor();
  });

  await suite.test("a wide screen has equal margins, a phone rows of a few lines", async (t) => {
    const { page, origin } = await opened(t, "/deployments");
    await page.getByRole("row").nth(1).waitFor();
    await page.setViewportSize({ width: 390, height: 844 });
    const row = await page.getByRole("row").nth(1).boundingBox();
    assert.ok(row && row.height <= 130, `a deployment takes ${row?.height} px`);
    await page.setViewportSize({ width: 2560, height: 1440 });
    const lefts = new Set<number>();
    for (const path of ["/deployments", "/timeline", "/system", ""]) {
      await page.goto(`${origin}/dashboard${path}`);
      await page.getByRole("heading", { level: 1 }).waitFor();
      const main = await page.locator("main").boundingBox();
      const content = await page.locator("#content").boundingBox();
      assert.ok(main && content);
      const right = content.x + content.width - main.x - main.width;
      assert.ok(Math.abs(main.x - content.x - right) <= 1, path);
      lefts.add(main.x);
    }
    assert.equal(lefts.size, 1, "no page jumps sideways");
  });
});
