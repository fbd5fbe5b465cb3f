import assert from "node:assert/strict";
import { test } from "node:test";
import type { CDPSession } from "playwright-core";
import { browser, noBrowser } from "../helpers/browser.ts";
import { controlsOf, dashboardPage, findingsOf } from "../helpers/dashboard-page.ts";
import { fillDashboard } from "../helpers/dashboard-world.ts";
import { isLong } from "../helpers/properties.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";

/**
 * The controls and states whose text contrasts with its ground by less than 4.5 to 1. A canvas turns every form of a
 * colour into numbers. The code is text because these tests have no browser types.
 */
const faint = `(() => {
  const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 });
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  const paint = (colors) => {
    pen.clearRect(0, 0, 1, 1);
    for (const color of colors) { pen.fillStyle = color; pen.fillRect(0, 0, 1, 1); }
    return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (rgb) => rgb
    .map((one) => one / 255)
    .map((one) => (one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4))
    .reduce((sum, one, i) => sum + one * [0.2126, 0.7152, 0.0722][i], 0);
  const grounds = (one) => [...(one.parentElement ? grounds(one.parentElement) : []), getComputedStyle(one).backgroundColor];
  return [...document.querySelectorAll("button, input, select, textarea, .rail a, .status")].flatMap((one) => {
    if (!one.checkVisibility({ opacityProperty: true })) return [];
    const below = grounds(one);
    const [a, b] = [light(paint(below)), light(paint([...below, getComputedStyle(one).color]))].sort();
    const ratio = (b + 0.05) / (a + 0.05);
    return ratio < 4.5 ? [one.className + " " + (one.textContent || one.value).slice(0, 30) + ": " + ratio.toFixed(1)] : [];
  });
})()`;

const states = [[], ["hover"], ["focus", "focus-visible"], ["hover", "active"]];

/** Puts every control into a state, as a pointer or a key would. */
async function force(session: CDPSession, state: readonly string[]): Promise<void> {
  const { root } = await session.send("DOM.getDocument", { depth: 0 });
  const { nodeIds } = await session.send("DOM.querySelectorAll", {
    nodeId: root.nodeId,
    selector: "button, input, select, textarea, .rail a, tr",
  });
  for (const nodeId of nodeIds) await session.send("CSS.forcePseudoState", { nodeId, forcedPseudoClasses: [...state] });
}

test("Chromium: buttons and fields", {
  skip: noBrowser || (!isLong && "npm run test:dashboard runs it"),
}, async (suite) => {
  const { open } = await browser(suite);

  await suite.test("each control can be read in every state, in both schemes", async (t) => {
    const { port, service } = await listeningWorld(t);
    const { running } = await fillDashboard(service);
    const page = await dashboardPage(t, open, `http://127.0.0.1:${port}`);
    const session = await page.context().newCDPSession(page);
    await session.send("DOM.enable");
    await session.send("CSS.enable");
    const wrong = new Set<string>();
    const look = async (name: string) => {
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
        for (const state of states) {
          await force(session, state);
          for (const one of await page.evaluate<string[]>(faint))
            wrong.add(`${name} ${colorScheme} ${state[0] ?? "rest"}: ${one}`);
        }
      }
      await force(session, []);
    };
    for (const path of ["/scenarios", "/people", `/deployments/${running}`]) {
      await page.goto(`http://127.0.0.1:${port}/dashboard${path}`);
      await page.waitForLoadState("networkidle");
      await look(path);
    }
    await page.evaluate(
      `for (const one of document.querySelectorAll("button")) one.setAttribute("aria-disabled", "true")`,
    );
    await look("busy");
    await page.goto(`http://127.0.0.1:${port}/dashboard/people`);
    await page.locator("button:enabled", { hasText: "Remove" }).first().click();
    await look("a confirmation");
    await session.detach();
    assert.deepEqual([...wrong], []);
  });

  await suite.test(
    "each error stands at its field, in the words of the page, and the first has the focus",
    async (t) => {
      const { port } = await listeningWorld(t);
      const page = await dashboardPage(t, open, `http://127.0.0.1:${port}`, "/webhooks");
      const { button, submit, fill } = controlsOf(page);
      await button("New webhook").click();
      await submit("Create");
      await page.getByText("URL is missing.", { exact: true }).waitFor();
      await fill("URL", "http://example.com");
      await fill("Events", "deployment.failed, nope.event");
      await submit("Create");
      await page.getByText("Events: nope.event must be one of the suggested names.", { exact: true }).waitFor();
      await page.getByText("URL must begin with https://.", { exact: true }).waitFor();
      assert.equal(await page.getByRole("alert").count(), 2);
      const field = page.getByLabel("URL", { exact: true });
      assert.equal(await page.locator("input:focus").getAttribute("name"), "url");
      assert.equal(await field.getAttribute("aria-invalid"), "true");
      const about = (await field.getAttribute("aria-describedby")) ?? "";
      assert.equal(await page.locator(`[id="${about.split(" ")[0]}"]`).textContent(), "URL must begin with https://.");
      assert.deepEqual(await findingsOf(page), []);
      await page.keyboard.press("Escape");
      await button("New webhook").click();
      assert.equal(await page.getByRole("alert").count(), 0, "a form that opens again begins anew");
    },
  );

  await suite.test("a rule about a name stands at the name, and an address stays as it was typed", async (t) => {
    const { port, project } = await listeningWorld(t);
    const { id } = await project();
    const page = await dashboardPage(t, open, `http://127.0.0.1:${port}`, `/projects/${id}`);
    const { button, submit, fill } = controlsOf(page);
    await button("New environment").click();
    await fill("Environment", "production");
    await submit("Create");
    await page.getByRole("heading", { name: "Variables" }).waitFor();
    assert.equal(await page.evaluate("getComputedStyle(document.activeElement).outlineStyle"), "none", "a title");
    await button("Set a variable").click();
    await fill("Variable", "bad name!");
    await submit("Save");
    await page.getByText(/^Variable must be named with/).waitFor();
    assert.equal(await page.locator("input:focus").getAttribute("name"), "name");
    await page.goto(`http://127.0.0.1:${port}/dashboard/people`);
    for (const _ of [1, 2]) {
      await button("Invite").click();
      await fill("Email", "bo@acme.test");
      await submit("Invite");
    }
    await page.getByText(/^bo@acme\.test has an invitation until \d{4}-\d\d-\d\d \d\d:\d\d UTC/).waitFor();
  });

  await suite.test("what cannot be taken back is red, and asks, in a dialog that reads as any other", async (t) => {
    const { port, service } = await listeningWorld(t);
    const { project } = await fillDashboard(service);
    const origin = `http://127.0.0.1:${port}`;
    const page = await dashboardPage(t, open, origin);
    const names = /^(Remove|Delete|Revoke|Clear|Reset|Restore)( all| environment)?$/;
    const paths = ["/people", "/keys", "/inbox", "/scenarios", "/faults", "/snapshots", "/webhooks/"];
    const { data } = await service.client().webhooks.list();
    for (const path of [...paths, `/projects/${project}`, `/projects/${project}/production`]) {
      await page.goto(`${origin}/dashboard${path.replace(/\/$/, `/${data[0]?.id}`)}`);
      await page.waitForLoadState("networkidle");
      const triggers = page.locator("main button:enabled", { hasText: names });
      assert.ok((await triggers.count()) > 0, path);
      for (const trigger of await triggers.all()) {
        assert.equal(await trigger.getAttribute("class"), "danger", `${path} ${await trigger.textContent()}`);
        await trigger.click();
        const dialog = page.getByRole("dialog");
        assert.equal(await dialog.locator("button").last().getAttribute("class"), "destroy", path);
        assert.equal(await page.evaluate("getComputedStyle(document.querySelector('dialog h2')).textAlign"), "left");
        await page.keyboard.press("Escape");
        await dialog.waitFor({ state: "detached" });
      }
    }
  });

  await suite.test("an error below a button moves nothing, and is a sentence", async (t) => {
    const { port } = await listeningWorld(t);
    const page = await dashboardPage(t, open, `http://127.0.0.1:${port}`, "/webhooks");
    await page.waitForLoadState("networkidle");
    const placeOf = async () => [await page.locator(".clock").boundingBox(), await page.locator("h1").boundingBox()];
    const before = await placeOf();
    await page.route("**/_svc/**", (route) => (route.request().method() === "POST" ? route.abort() : route.continue()));
    await page.getByRole("button", { name: "+2h" }).click();
    await page.getByRole("alert").waitFor();
    assert.deepEqual(await placeOf(), before);
    const text = await page.getByRole("alert").textContent();
    assert.equal(text, "The service cannot be reached. Is it running?");
  });
});
