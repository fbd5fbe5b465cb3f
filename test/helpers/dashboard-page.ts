import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { TestContext } from "node:test";
import type { Page } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Opens a page in a browser that the tests of a file share. */
type Open = (url: string) => Promise<Page>;

interface Found {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string }[];
}

/**
 * Opens a dashboard page. At the end of the test, asserts that nothing violated its policy, threw an error, or
 * requested another origin.
 */
export async function dashboardPage(t: TestContext, open: Open, origin: string, path = ""): Promise<Page> {
  const page = await open("about:blank");
  // The page may wait for a whole deployment on a busy machine.
  page.setDefaultTimeout(60_000);
  await page.emulateMedia({ reducedMotion: "reduce" });
  const wrong: string[] = [];
  page.on("console", (message) => {
    if (/Content.Security.Policy|TrustedHTML/i.test(message.text())) wrong.push(message.text());
  });
  page.on("pageerror", (error) => wrong.push(String(error.stack)));
  page.on("request", (request) => {
    if (new URL(request.url()).origin !== origin) wrong.push(`a request to ${request.url()}`);
  });
  // Chromium ends its requests when an address of the machine changes, as when a container starts.
  const failed: string[] = [];
  page.on("requestfailed", (request) => failed.push(`${request.url()}: ${request.failure()?.errorText}`));
  t.after(() => assert.deepEqual(wrong, []));
  await page.goto(`${origin}/dashboard${path}`);
  const heading = page.getByRole("heading", { level: 1 }).waitFor();
  await heading.catch(async (cause) => {
    const shown = await page.locator("#page").textContent();
    throw new Error(`the page shows "${shown}" and no title: ${[...wrong, ...failed].join("; ")}`, { cause });
  });
  return page;
}

/**
 * The serious axe findings on the current page, for all rules or for one. The debugger injects axe, because the policy
 * forbids such scripts.
 */
export async function findingsOf(page: Page, rule?: string): Promise<string[]> {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe);
  const found: Found[] = await page.evaluate(async (only) => {
    const { axe } = globalThis as unknown as { axe: { run(options: object): Promise<{ violations: Found[] }> } };
    const { violations } = await axe.run(only === undefined ? {} : { runOnly: [only] });
    return violations.map(({ id, impact, nodes }) => ({ id, impact, nodes: nodes.map(({ html }) => ({ html })) }));
  }, rule);
  return found
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${page.url()} ${id}: ${html.slice(0, 200)}`));
}

/**
 * Finds elements that leave the window, or are cut where nothing scrolls. The code is text because these tests have no
 * browser types.
 */
const cut = `(() => {
  const { clientWidth, scrollWidth } = document.documentElement;
  const scrolls = (one) => one !== null && (/auto|scroll/.test(getComputedStyle(one).overflowX) || scrolls(one.parentElement));
  const hidden = (one) => one.closest(".unseen, thead, .skip, label") !== null;
  const nameOf = (one) => one.tagName + "." + one.className + ": " + one.textContent.slice(0, 40);
  return [
    ...(scrollWidth > clientWidth ? ["the page scrolls sideways"] : []),
    ...[...document.querySelectorAll("body *")].flatMap((one) => {
      const { right, left, width } = one.getBoundingClientRect();
      if (width === 0 || hidden(one) || scrolls(one)) return [];
      const isCut = getComputedStyle(one).overflowX === "hidden" && one.scrollWidth > one.clientWidth + 1;
      return right > clientWidth + 1 || left < -1 || isCut ? [nameOf(one)] : [];
    }),
  ];
})()`;

export async function cutAt(page: Page, width: number): Promise<string[]> {
  await page.setViewportSize({ width, height: 900 });
  return (await page.evaluate<string[]>(cut)).map((one) => `${page.url()} at ${width}: ${one}`);
}

/** The buttons and fields of a page, by their visible names. */
export const controlsOf = (page: Page) => ({
  button: (name: string | RegExp) => page.getByRole("button", { name, exact: true }),
  /** Presses the button of the open form. */
  submit: (name: string) => page.getByRole("dialog").getByRole("button", { name, exact: true }).click(),
  fill: (name: string, text: string) => page.getByLabel(name, { exact: true }).fill(text),
  choose: (name: string, option: string) => page.getByLabel(name, { exact: true }).selectOption(option),
  sees: (text: string) => page.getByText(text, { exact: false }).first().waitFor(),
  /** Does what sends a request, and waits until the service has answered that one. */
  answered: (path: string, act: () => Promise<void>) =>
    Promise.all([page.waitForResponse((response) => new URL(response.url()).pathname.endsWith(path)), act()]),
});
