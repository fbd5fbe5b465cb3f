import assert from "node:assert/strict";
import { test } from "node:test";
import { browser, noBrowser } from "../helpers/browser.ts";
import { dashboardPage } from "../helpers/dashboard-page.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";
import { expect } from "../helpers/test-service.ts";

test("The gallery shows the progress of a driver that first knows none, as a program that has printed nothing yet", {
  skip: noBrowser,
}, async (t) => {
  const { open } = await browser(t);
  let part: number | undefined;
  const running = async () => ({ state: "running", again_ms: 3_600_000, handle: "job" }) as const;
  const driver = { delay: () => 0, cancel: async () => {}, submit: running, poll: running, progressOf: () => part };
  const here = await listeningWorld(t, { generations: { driver } });
  const { id } = expect(await here.call("owner", "POST", "/v1/generations", { model: "any", prompt: "a hill" }), 201);
  await here.service.settle();
  const pages = [];
  for (const path of ["/generations", `/generations/${id}`]) {
    const page = await dashboardPage(t, open, `http://127.0.0.1:${here.port}`, path);
    await page.getByText("in progress", { exact: false }).first().waitFor();
    assert.equal(await page.getByRole("progressbar").count(), 0);
    pages.push(page);
  }
  for (const wanted of [0.25, 0.5]) {
    part = wanted;
    for (const page of pages)
      await page
        .getByText(`${100 * wanted} %`)
        .first()
        .waitFor();
  }
});
