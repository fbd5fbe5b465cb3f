import assert from "node:assert/strict";
import { test } from "node:test";
import { browser, noBrowser } from "../helpers/browser.ts";
import { dashboardPage, findingsOf } from "../helpers/dashboard-page.ts";
import { fillDashboard } from "../helpers/dashboard-world.ts";
import { isLong } from "../helpers/properties.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";

const skip = noBrowser || (!isLong && "npm run test:dashboard runs it");

/** Lines and areas that do not stand out from the page. A string, because these tests have no browser types. */
const faint = `(() => {
  const probe = document.body.appendChild(document.createElement("i"));
  const systemColor = (name) => { probe.style.color = name; return getComputedStyle(probe).color; };
  const allowed = ["CanvasText", "GrayText", "Highlight", "ButtonText", "LinkText"].map(systemColor);
  const ground = ["Canvas", "ButtonFace"].map(systemColor);
  probe.remove();
  const isSeen = (color) => allowed.includes(color) && !ground.includes(color);
  return [...document.querySelectorAll("svg :is(path, circle, line, rect, text)")].flatMap((one) => {
    const { fill, stroke } = getComputedStyle(one);
    const { width, height } = one.getBoundingClientRect();
    if (width + height === 0 || one.closest(".future, .target") || one.matches(".future, .target, .count")) return [];
    return isSeen(fill) || isSeen(stroke) ? [] : [one.outerHTML.slice(0, 100) + " " + fill + " " + stroke];
  });
})()`;

const outlined = (selector: string) =>
  `[...document.querySelectorAll(${JSON.stringify(selector)})].map((one) => getComputedStyle(one).outlineStyle)`;

test("Chromium: forced colours", { skip }, async (suite) => {
  const { open } = await browser(suite);
  const { port, service } = await listeningWorld(suite);
  const made = await fillDashboard(service);
  const origin = `http://127.0.0.1:${port}`;
  const paths = [
    "",
    `/deployments/${made.running}`,
    `/deployments/${made.failed}?line=58`,
    `/webhooks/${made.hook}`,
    "/system",
    "/timeline?at=2026-01-01T00:01:02Z",
    "/inbox",
    "/keys",
  ];
  for (const colorScheme of ["light", "dark"] as const) {
    await suite.test(`nothing is lost in the ${colorScheme} colours of the system`, async (t) => {
      const page = await dashboardPage(t, open, origin);
      await page.emulateMedia({ forcedColors: "active", colorScheme, reducedMotion: "reduce" });
      const wrong: string[] = [];
      for (const path of paths) {
        await page.goto(`${origin}/dashboard${path}`);
        await page.getByRole("heading", { level: 1 }).waitFor();
        await page.waitForLoadState("networkidle");
        wrong.push(...(await page.evaluate<string[]>(faint)), ...(await findingsOf(page)));
        assert.deepEqual(await page.evaluate(outlined(".rail [aria-current='page']")), ["solid"], path);
      }
      assert.deepEqual(wrong, []);
      await page.goto(`${origin}/dashboard/deployments/${made.failed}?line=58`);
      await page.locator(".line.linked").waitFor();
      assert.deepEqual(await page.evaluate(outlined(".line.linked")), ["solid"]);
      // Disabled buttons look disabled, and the focus is visible.
      const styleOf = (name: string, property: string) =>
        page.evaluate<string>(
          `getComputedStyle([...document.querySelectorAll("button")].find((one) => one.textContent === "${name}")).${property}`,
        );
      const grey = await page.evaluate<string>(
        `(() => { const one = document.body.appendChild(document.createElement("i")); one.style.color = "GrayText"; const { color } = getComputedStyle(one); one.remove(); return color; })()`,
      );
      await page.goto(`${origin}/dashboard/people`);
      // The last owner stays.
      await page.locator("main button:disabled").first().waitFor();
      const disabled = 'getComputedStyle(document.querySelector("main button:disabled")).color';
      assert.equal(await page.evaluate<string>(disabled), grey);
      await page.goto(`${origin}/dashboard/deployments/${made.running}`);
      await page.getByRole("button", { name: "Roll back" }).waitFor();
      assert.notEqual(await styleOf("Roll back", "color"), grey);
      await page.getByRole("button", { name: "Roll back" }).focus();
      await page.keyboard.press("Shift+Tab");
      await page.keyboard.press("Tab");
      assert.equal(await styleOf("Roll back", "outlineStyle"), "solid");
    });
  }
});
