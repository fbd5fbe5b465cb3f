import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { simulatedDeployments } from "../../lib/drivers/deployment/simulated.ts";
import { browser, noBrowser } from "../helpers/browser.ts";
import { dashboardPage } from "../helpers/dashboard-page.ts";
import { isLong } from "../helpers/properties.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";
import { keyOf } from "../helpers/test-service.ts";

/**
 * The focused element: its tag, and its name as screen readers announce it. A string, because these tests have no
 * browser types.
 */
const focused = `(() => {
  const at = document.activeElement;
  const label = at.labels?.[0]?.textContent ?? at.getAttribute("aria-label") ?? at.textContent;
  return at.tagName.toLowerCase() + " " + label.trim();
})()`;

function keyboardOf(page: Page) {
  const press = (key: string) => page.keyboard.press(key);
  const at = () => page.evaluate<string>(focused);
  return {
    press,
    at,
    /** Waits until this has the focus: after a move to another place, it comes with the next frame. */
    reaches: (selector: string, text: string) => page.locator(`${selector}:focus`, { hasText: text }).waitFor(),
    type: (text: string) => page.keyboard.type(text),
    /** Chooses the first that the palette finds. */
    async goTo(text: string): Promise<void> {
      await press("Control+k");
      await page.keyboard.type(text);
      await press("Enter");
      await page.getByRole("dialog").waitFor({ state: "detached" });
    },
    /** Presses Tab until this element has the focus. */
    async to(wanted: string, key = "Tab"): Promise<void> {
      const seen: string[] = [];
      for (let i = 0; i < 80; i++) {
        await press(key);
        seen.push(await at());
        if (seen.at(-1) === wanted) return;
      }
      assert.fail(`Tab reaches no ${wanted}, but ${seen.join("; ")}`);
    },
  };
}

test("Chromium: the keyboard", { skip: noBrowser || (!isLong && "npm run test:dashboard runs it") }, async (suite) => {
  const { open } = await browser(suite);

  await suite.test("alone signs in, makes a project, deploys, rolls back and signs out", async (t) => {
    const { port } = await listeningWorld(t, {
      mode: "start",
      clock: "real",
      random: undefined,
      deployments: { driver: simulatedDeployments(() => ({ pace: "instant" })) },
    });
    const page = await dashboardPage(t, open, `http://127.0.0.1:${port}`);
    const { press, type, to, at, goTo, reaches } = keyboardOf(page);
    const headed = (name: string | RegExp) => page.getByRole("heading", { level: 1, name }).waitFor();
    await to("input API key");
    await type(keyOf("owner"));
    await press("Enter");
    await headed("Overview");

    await goTo("projects");
    await headed("Projects");
    // A new page begins at its heading.
    await reaches("h1", "Projects");
    await to("button New project");
    await press("Enter");
    assert.equal(await at(), "input Name", "a dialog begins at its first field");
    await press("Escape");
    assert.equal(await at(), "button New project", "a dialog gives the focus back");
    await press("Space");
    await type("web");
    await press("Enter");
    await headed("web");

    for (const repository of ["acme/web", "acme/next"]) {
      await goTo("web");
      await headed(/^web$/);
      await to("button Deploy");
      await press("Enter");
      await to("input Repository");
      await type(repository);
      await press("Enter");
      await headed("web to production");
      await page.locator(".facts").getByText("active").waitFor();
    }
    const before = page.url();
    await to("button Roll back");
    await press("Enter");
    await page.getByRole("dialog").getByText("comes back", { exact: false }).waitFor();
    await to("button Roll back");
    await press("Enter");
    await page.waitForURL((url) => url.href !== before);
    await page.locator(".facts").getByText("active").waitFor();
    await page.locator(".details").getByText("acme/web").waitFor();

    await to("button Sign out", "Shift+Tab");
    await press("Enter");
    await headed("Sign in");
  });

  await suite.test("deploys what was typed, before or after the project's last deployments arrive", async (t) => {
    const { port, project, deploy, service } = await listeningWorld(t);
    const { id } = await project("shop");
    await deploy(id);
    await service.clock.advance("10m");
    const origin = `http://127.0.0.1:${port}`;
    const page = await dashboardPage(t, open, origin, `/projects/${id}`);
    const { press, type, to } = keyboardOf(page);
    for (const [early, late] of [
      ["acme/early", ""],
      ["", "acme/late"],
    ] as const) {
      await page.goto(`${origin}/dashboard/projects/${id}`);
      let release = () => {};
      const held = new Promise<void>((done) => {
        release = done;
      });
      await page.route(/deployments\?.*per_page=50/, async (route) => {
        await held;
        await route.continue();
      });
      const asked = page.waitForRequest(/per_page=50/);
      await to("button Deploy");
      await press("Enter");
      await to("input Repository");
      await type(early);
      await asked;
      if (late !== "") {
        release();
        await page.getByText("Now live:").waitFor();
        await type(late);
      }
      await press("Enter");
      await page.waitForURL(/deployments\/dep_/);
      release();
      await page.getByText(`${early}${late}`).first().waitFor();
      await page.getByRole("heading", { name: "shop to production" }).waitFor();
      await page.unrouteAll({ behavior: "ignoreErrors" });
    }
  });

  await suite.test("reaches all of a page: skip link, help, palette, drawer, search, lines", async (t) => {
    const { port, project, deploy, service } = await listeningWorld(t);
    const { id } = await project("shop");
    // Only a later release can be rolled back.
    await deploy(id);
    await service.clock.advance("1m");
    const { id: deployment } = await deploy(id);
    await service.clock.advance("1m");
    const page = await dashboardPage(t, open, `http://127.0.0.1:${port}`);
    const { press, type, to, at, reaches } = keyboardOf(page);
    await page.reload();
    await page.getByText("Latest deployments").waitFor();
    await press("Tab");
    assert.equal(await at(), "a Skip to the page");
    await press("Enter");
    await reaches("#content", "Overview");

    await press("?");
    await page.getByRole("dialog", { name: "Shortcuts" }).waitFor();
    assert.equal(await at(), "button Close");
    await press("Escape");
    assert.match(await at(), /^div Overview/);

    // Finds it by the end of its identifier, as tables show it, and by the whole identifier.
    for (const text of [`…${deployment.slice(-8)}`, deployment]) {
      await press("Control+k");
      await type(text);
      await page.getByRole("option", { name: deployment }).waitFor();
      await press("Enter");
      await page.waitForURL(`**/deployments/${deployment}`);
      await page.getByRole("heading", { name: "shop to production" }).waitFor();
      if (text === deployment) break;
      await page.goBack();
      await page.getByRole("heading", { name: "Overview" }).waitFor();
    }
    await page.getByText("lines", { exact: false }).first().waitFor();
    await press("/");
    assert.equal(await at(), "input Search");
    await type("?.build");
    assert.equal(await page.getByRole("dialog").count(), 0, "text is text");
    await to("section Lines");
    await press("Tab");
    assert.match(await at(), /^a Line \d+$/);
    await press("Enter");
    await page.waitForURL(/\?line=\d+$/);

    await press(".");
    assert.match(await at(), /^aside Calls/);
    await to(`summary deployments.get GET /v1/deployments/${deployment}`);
    await press("Enter");
    await to("button Copy");
    await press("Escape");
    assert.match(await at(), /^a Line \d+$/, "the drawer gives the focus back");

    // The palette offers the actions of the page.
    const url = page.url();
    await press("Control+k");
    await type("roll");
    await page.locator('.palette [aria-selected="true"]').getByText("Roll back").waitFor();
    await press("ArrowDown");
    await press("Escape");
    await press("Control+k");
    await type("nothing of this name");
    await page.getByText("No results.").waitFor();
    await press("Enter");
    await press("Escape");
    assert.equal(page.url(), url);
  });
});
