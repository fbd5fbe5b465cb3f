import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { browser, noBrowser } from "../helpers/browser.ts";
import { controlsOf, dashboardPage } from "../helpers/dashboard-page.ts";
import { isLong } from "../helpers/properties.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";
import { keyOf } from "../helpers/test-service.ts";

/** How far the bar, its buttons and its list of work leave the window. The code is text: no browser types here. */
const beyond = `(() => {
  const bar = document.querySelector(".clock");
  const shown = [...bar.querySelectorAll("button")].filter((one) => one.checkVisibility());
  return [bar.scrollWidth - bar.clientWidth, ...shown.map((one) => one.getBoundingClientRect().right - innerWidth)];
})()`;

test("Chromium: the clock bar on every screen, and in every tab", {
  skip: noBrowser || (!isLong && "npm run test:dashboard runs it"),
}, async (suite) => {
  const { open } = await browser(suite);

  const opened = async (t: TestContext, path = "") => {
    const here = await listeningWorld(t);
    const origin = `http://127.0.0.1:${here.port}`;
    const page = await dashboardPage(t, open, origin, path);
    return { ...here, origin, page, ...controlsOf(page) };
  };

  await suite.test("it fits while it records and work is due, with the calls open, and on a phone", async (t) => {
    const { page, button, project, deploy } = await opened(t);
    await deploy((await project()).id);
    await page.getByLabel("Clock").getByText("a deployment starts").waitFor();
    await button("+10s").click();
    await page.locator(".clock button:enabled", { hasText: "Undo" }).waitFor();
    await button("Record").click();
    await page.getByText("Recording: 0 calls").waitFor();
    await button("Calls").click();
    for (const width of [2560, 1440, 1280, 1200, 1024, 768]) {
      await page.setViewportSize({ width, height: 800 });
      const found = await page.evaluate<number[]>(beyond);
      assert.ok(
        found.every((one) => one <= 0),
        `${width}: ${found}`,
      );
      assert.ok(await button("Stop").isVisible(), `${width}: what runs can be stopped`);
    }
    await button("Stop").click();
    await button("Close").click();
    await page.setViewportSize({ width: 390, height: 844 });
    const bar = page.locator(".clock");
    const heightOf = async () => (await bar.boundingBox())?.height ?? 0;
    assert.ok((await heightOf()) <= 60, `one line on a phone, and not ${await heightOf()}`);
    assert.equal(await button("Look ahead").isVisible(), false);
    await button("More of the clock").click();
    await button("Look ahead").waitFor();
    await button(/^Undo/).click();
    await page.locator("button:disabled:not([aria-disabled])", { hasText: "Undo" }).waitFor();
  });

  await suite.test("the browser asks before it leaves a recording, and not after it", async (t) => {
    const { page, button } = await opened(t, "/projects");
    const asked: string[] = [];
    page.on("dialog", (dialog) => {
      asked.push(dialog.type());
      void dialog.accept();
    });
    await button("Record").click();
    await page.getByText("Recording: 0 calls").waitFor();
    await page.reload();
    await button("Stop").click();
    await button("Record").waitFor();
    await page.reload();
    assert.deepEqual(asked, ["beforeunload"]);
  });

  await suite.test("Undo is there in a new tab too, and asks what goes with it", async (t) => {
    const { page, origin, button, service, project } = await opened(t, "/projects");
    await project("before");
    await button("+2h").click();
    await page.locator("button:enabled", { hasText: "Undo" }).waitFor();
    await project("after");
    const other = await dashboardPage(t, open, origin, "/projects");
    const undo = other.getByRole("button", { name: /^Undo/ });
    await undo.click();
    await other.getByRole("dialog").getByText("POST /v1/projects").waitFor();
    await other.getByRole("dialog").getByRole("button", { name: "Undo", exact: true }).click();
    await other.locator("button:disabled:not([aria-disabled])", { hasText: "Undo" }).waitFor();
    assert.equal(service.clock.now().toISOString(), "2026-01-01T00:00:00.000Z");
    // The first tab knows that its move is gone, and that a later state is no way back.
    await page.locator("button:disabled:not([aria-disabled])", { hasText: "Undo" }).waitFor();
    await service.snapshot({ name: "before next winter" });
    await button("+10s").click();
    await page.locator("button:enabled", { hasText: "Undo" }).click();
    await page.locator("button:disabled:not([aria-disabled])", { hasText: "Undo" }).waitFor();
    assert.equal(service.clock.now().toISOString(), "2026-01-01T00:00:00.000Z");
  });

  await suite.test("Undo knows its own work after a reload, leaves out what was before, and has a Redo", async (t) => {
    const { page, origin, button, submit, fill, service, send } = await opened(t, "/projects");
    const names = async () =>
      (await service.client({ apiKey: keyOf("owner") }).projects.list()).data.map(({ name }) => name);
    const clock = page.getByLabel("Clock");
    const headers = { "content-type": "application/json" };
    await send("POST", "/_svc/clock/advance", { headers, body: JSON.stringify({ by: "1s" }) });
    // A duration as the page writes it.
    await fill("Advance by", "2 h 0 m");
    await page.keyboard.press("Enter");
    await button("Undo +2h0m").waitFor();
    assert.equal(service.clock.now().toISOString(), "2026-01-01T02:00:01.000Z");
    const other = await dashboardPage(t, open, origin, "/projects");
    await other.getByRole("button", { name: "Undo +2h0m" }).click();
    await other.getByLabel("Clock").getByText("Nothing else changed").waitFor();
    await button("Undo").waitFor();

    await button("+2m").click();
    await button("Undo +2m").waitFor();
    await button("New project").click();
    await fill("Name", "mine");
    await submit("Create");
    await page.getByRole("heading", { name: "mine" }).waitFor();
    await page.reload();
    await button("Undo +2m").click();
    await clock.getByText(/^Undone: .*1 project goes/).waitFor();
    assert.deepEqual(await names(), []);
    await button("Redo").click();
    await button("Redo").waitFor({ state: "detached" });
    assert.deepEqual(await names(), ["mine"]);
    assert.equal(service.clock.now().toISOString(), "2026-01-01T00:02:01.000Z");
    await button("Undo").click();
    await page.locator("button:disabled:not([aria-disabled])", { hasText: "Undo" }).waitFor();
    assert.deepEqual(await names(), []);
  });

  await suite.test("a second move waits for the first, and says so", async (t) => {
    const { page, button, service } = await opened(t, "/projects");
    let go = () => {};
    const waits = new Promise<void>((resolve) => {
      go = resolve;
    });
    await page.route("**/_svc/clock/advance", async (route) => {
      await waits;
      await route.continue();
    });
    await button("+10s").click();
    await page.locator('.clock button[aria-disabled="true"]').waitFor();
    await button("+2h").click();
    await page.getByRole("alert").getByText("The clock is still moving.", { exact: false }).waitFor();
    go();
    await page
      .getByLabel("Clock")
      .getByText(/jobs? ran/)
      .waitFor();
    assert.equal(service.clock.now().toISOString(), "2026-01-01T00:00:10.000Z");
  });

  await suite.test("messages stand above each other, the newest on top, three at most, and leave", async (t) => {
    const { page, button, fill } = await opened(t, "/projects");
    await page.waitForLoadState("networkidle");
    await page.clock.install();
    await button("+10s").click();
    const shown = page.locator(".said");
    await shown.first().waitFor();
    for (const [given, words] of [
      ["banana", "must be a duration"],
      ["2m", "jobs? ran"],
      ["apple", "^Advance by must be a duration"],
    ] as const) {
      await fill("Advance by", given);
      await page.keyboard.press("Enter");
      await shown.first().getByText(new RegExp(words)).waitFor();
    }
    assert.equal(await shown.count(), 3);
    assert.match((await shown.nth(2).textContent()) ?? "", /duration/, "the oldest goes first");
    const boxes = await Promise.all((await shown.all()).map((one) => one.boundingBox()));
    for (const [i, box] of boxes.slice(1).entries()) {
      const above = boxes[i];
      assert.ok(box && above && above.y + above.height <= box.y, `${JSON.stringify(boxes)}`);
    }
    await page.clock.runFor(20_000);
    assert.equal(await shown.count(), 0);
  });
});
