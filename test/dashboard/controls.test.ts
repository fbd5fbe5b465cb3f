import assert from "node:assert/strict";
import { test } from "node:test";
import type { CDPSession } from "playwright-core";
import { browser, noBrowser } from "../helpers/browser.ts";
import { dashboardPage } from "../helpers/dashboard-page.ts";
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
});
