import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { browser, noBrowser } from "../helpers/browser.ts";
import { word } from "../helpers/canaries.ts";
import { controlsOf, dashboardPage } from "../helpers/dashboard-page.ts";
import { member, withMembers } from "../helpers/members.ts";
import { isLong } from "../helpers/properties.ts";
import { type ListeningWorld, listeningWorld } from "../helpers/raw-sockets.ts";
import { expect } from "../helpers/test-service.ts";

/** All strings in the page's heap, including those not yet collected. */
async function memoryOf(page: Page): Promise<string> {
  const debug = await page.context().newCDPSession(page);
  const parts: string[] = [];
  debug.on("HeapProfiler.addHeapSnapshotChunk", ({ chunk }) => void parts.push(chunk));
  await debug.send("HeapProfiler.enable");
  await debug.send("HeapProfiler.collectGarbage");
  await debug.send("HeapProfiler.takeHeapSnapshot", { reportProgress: false });
  await debug.detach();
  return parts.join("");
}

const idOf = async ({ call }: ListeningWorld, kind: "users" | "api-keys", name: string) =>
  expect(await call("owner", "GET", `/v1/${kind}`), 200).data.find((one: { name: string }) => one.name === name).id;

const ends: Readonly<Record<string, (here: ListeningWorld) => Promise<unknown>>> = {
  revoked: async (here) => here.call("owner", "DELETE", `/v1/api-keys/${await idOf(here, "api-keys", "revoked")}`),
  removed: async (here) => here.call("owner", "DELETE", `/v1/users/${await idOf(here, "users", "removed")}`),
  suspended: async (here) => here.call("owner", "POST", `/v1/users/${await idOf(here, "users", "suspended")}/suspend`),
};

test("Chromium: nothing stays of a session that has ended", {
  skip: noBrowser || (!isLong && "npm run test:dashboard runs it"),
}, async (suite) => {
  const { open } = await browser(suite);
  const members = Object.keys(ends).map((name) => ({
    ...member(name, "admin"),
    keys: [{ name, key: `sk_live_${name}` }],
  }));
  const hosted = { mode: "start", clock: "real", random: undefined } as const;

  const signedIn = async (t: Parameters<typeof dashboardPage>[0], here: ListeningWorld, name: string) => {
    const secret = word();
    const page = await dashboardPage(t, open, `http://127.0.0.1:${here.port}`, "/projects");
    const { button, submit, fill } = controlsOf(page);
    await page.getByLabel("API key").fill(`sk_live_${name}`);
    await page.keyboard.press("Enter");
    await button("New project").click();
    await fill("Name", `p-${secret}`);
    await fill("Region", "eu-west-1");
    await submit("Create");
    await page.getByRole("heading", { name: `p-${secret}` }).waitFor();
    await page.locator(".live-mark").getByText("Live").waitFor();
    assert.ok((await memoryOf(page)).includes(secret), "the search finds what is there");
    return { page, secret };
  };
  const clear = async (page: Page, secret: string, end: () => Promise<unknown>) => {
    const loaded = page.waitForEvent("load");
    await end();
    await loaded;
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    const shown = await page.evaluate<string>("document.title + document.documentElement.outerHTML");
    assert.ok(!shown.includes(secret), "on the screen");
    assert.ok(!(await memoryOf(page)).includes(secret), "in memory");
    await page.goBack();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    assert.ok(!(await page.content()).includes(secret), "on the page before");
  };

  for (const [name, endOf] of Object.entries(ends))
    await suite.test(`after the key or the user was ${name}`, async (t) => {
      const here = await listeningWorld(t, { ...hosted, seed: withMembers(...members) });
      const { page, secret } = await signedIn(t, here, name);
      const sockets: boolean[] = [];
      page.on("websocket", (socket) => void sockets.push(socket.isClosed()));
      await clear(page, secret, () => endOf(here));
      assert.deepEqual(sockets, [], "it connects no more");
    });

  await suite.test("after a sign-out", async (t) => {
    const here = await listeningWorld(t, { ...hosted, seed: withMembers(...members) });
    const { page, secret } = await signedIn(t, here, "revoked");
    await clear(page, secret, () => controlsOf(page).button("Sign out").click());
  });
});
