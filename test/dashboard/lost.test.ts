import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { createClient } from "../../lib/client.ts";
import { browser, noBrowser } from "../helpers/browser.ts";
import { dashboardPage } from "../helpers/dashboard-page.ts";
import { freePort } from "../helpers/free-port.ts";
import { launch, temporaryFolder } from "../helpers/program.ts";
import { isLong } from "../helpers/properties.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";
import { expect, git, keyOf } from "../helpers/test-service.ts";

test("Chromium: what goes wrong", {
  skip: noBrowser || (!isLong && "npm run test:dashboard runs it"),
}, async (suite) => {
  const { open } = await browser(suite);

  await suite.test("a service that stops is told, and after its restart the page has everything once", async (t) => {
    const words = ["dev", "--database", join(temporaryFolder(t), "svc.db"), "--clock", "manual"];
    // The next server takes the same port.
    const port = String(await freePort());
    const first = await launch(t, [...words, "--port", port]);
    const client = createClient({ baseUrl: first.base_url, apiKey: first.api_key });
    const { id: project_id } = await client.projects.create({ name: "web", region: "eu-west-1" });
    const deploy = () => client.deployments.create({ project_id, environment: "production", source: git });
    await deploy();
    const page = await dashboardPage(t, open, first.url, "/deployments");
    const rows = page.locator(".rows tbody tr");
    await rows.first().waitFor();
    await page.locator(".live-mark").getByText("Live").waitFor();

    await first.stop("SIGKILL");
    const lost = page.getByText("The service has not answered since", { exact: false });
    await lost.waitFor();
    assert.equal(await rows.count(), 1, "what is known stays");
    await page.getByRole("button", { name: "+10s" }).click();
    await page.getByText("The service cannot be reached. Is it running?").waitFor();
    await launch(t, [...words, "--port", port]);
    const made = await Promise.all([deploy(), deploy()]);
    await lost.waitFor({ state: "detached" });
    for (const { id } of made) await page.getByTitle(id).waitFor();
    assert.equal(await rows.count(), 3);
    await page.getByRole("button", { name: "+2m" }).click();
    await page.locator(".rows .status.active").nth(2).waitFor();
    assert.equal(await rows.count(), 3);
  });

  await suite.test("a page that cannot read its session at first tries again", async (t) => {
    const { port } = await listeningWorld(t);
    const page = await open("about:blank");
    await page.route("**/dashboard/session", (route) => route.abort(), { times: 1 });
    await page.goto(`http://127.0.0.1:${port}/dashboard/projects`);
    await page.getByRole("heading", { name: "Projects" }).waitFor();
    await page.close();
  });

  await suite.test("a read that does not arrive is made again, even if the socket stays open", async (t) => {
    const here = await listeningWorld(t);
    const page = await dashboardPage(t, open, `http://127.0.0.1:${here.port}`, "/projects");
    await page.locator(".live-mark").getByText("Live").waitFor();
    await page.getByText("No project yet.", { exact: false }).waitFor();
    await page.route("**/dashboard/api/projects*", (route) => route.abort("internetdisconnected"), { times: 1 });
    expect(await here.call("owner", "POST", "/v1/projects", { name: "web", region: "eu-west-1" }), 201);
    await page.getByRole("link", { name: "web", exact: true }).waitFor();
    await page.close();
  });

  await suite.test("a tab of an older version says so, and a reload mends it", async (t) => {
    const { port } = await listeningWorld(t);
    const origin = `http://127.0.0.1:${port}`;
    const page = await dashboardPage(t, open, origin);
    await page.locator(".live-mark").getByText("Live").waitFor();
    const old = page.getByText("The service was upgraded", { exact: false });
    assert.equal(await old.count(), 0);
    await page.routeWebSocket(/live/, (socket) => {
      const server = socket.connectToServer();
      server.onMessage((text) => socket.send(String(text).replace(/app-\w+\.js/, "app-NEWER.js")));
    });
    await page.reload();
    await old.waitFor();
    await page.getByRole("button", { name: "Reload" }).click();
    await old.waitFor();
  });

  await suite.test("no page of another origin shows it in a frame, reads it, or opens its socket", async (t) => {
    const { port } = await listeningWorld(t);
    const target = `http://127.0.0.1:${port}/dashboard`;
    const foreign = createServer((_, response) => {
      response.setHeader("content-type", "text/html");
      response.end(`<!doctype html><title>foreign</title><iframe src="${target}"></iframe>`);
    });
    await new Promise<void>((listening) => foreign.listen(0, "127.0.0.1", listening));
    t.after(() => {
      foreign.close();
      foreign.closeAllConnections();
    });
    const page = await open("about:blank");
    const refused: string[] = [];
    page.on("console", (message) => refused.push(message.text()));
    await page.goto(`http://127.0.0.1:${(foreign.address() as AddressInfo).port}/`, { waitUntil: "networkidle" });
    const [, frame] = page.frames();
    assert.equal(await frame?.locator("#page").count(), 0);
    assert.match(refused.join("\n"), /frame-ancestors 'none'/);
    const tried = await page.evaluate<string[]>(`Promise.all([
      fetch("${target}/session").then((answer) => "read " + answer.status, () => "refused"),
      fetch("${target}/api/projects", { method: "POST", body: "{}", mode: "no-cors" }).then((answer) => answer.type, () => "refused"),
      new Promise((done) => {
        const socket = new WebSocket("${target.replace("http", "ws")}/live");
        socket.onopen = () => done("open");
        socket.onerror = () => done("refused");
      }),
    ])`);
    assert.deepEqual(tried, ["refused", "opaque", "refused"]);
  });

  await suite.test("a session of a user who was removed ends on the page", async (t) => {
    const { port, send } = await listeningWorld(t, { mode: "start", clock: "real", random: undefined });
    const page = await dashboardPage(t, open, `http://127.0.0.1:${port}`, "/people");
    await page.getByLabel("API key").fill(keyOf("admin"));
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "People" }).waitFor();
    const { data } = (await send("GET", "/v1/users")).body;
    await send("DELETE", `/v1/users/${data.find(({ name }: { name: string }) => name === "admin").id}`);
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    assert.equal(await page.getByText("owner@acme.test").count(), 0);
    await page.getByLabel("API key").fill(keyOf("admin"));
    await page.keyboard.press("Enter");
    await page.getByText("This API key is not valid", { exact: false }).waitFor();
  });
});
