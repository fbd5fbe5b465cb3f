import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { openAdmin } from "../../lib/composition/offline-admin.ts";
import { parseOptions } from "../../lib/config/parse-options.ts";
import { browser, noBrowser } from "../helpers/browser.ts";
import { controlsOf, dashboardPage } from "../helpers/dashboard-page.ts";
import { isLong } from "../helpers/properties.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";
import { folderOf } from "../helpers/temporary-store.ts";
import { expect } from "../helpers/test-service.ts";

test("Chromium", { skip: noBrowser || (!isLong && "npm run test:dashboard runs it") }, async (suite) => {
  const { open } = await browser(suite);

  await suite.test("a generation is started, shown, played, cancelled and paid", async (t) => {
    const { port, service } = await listeningWorld(t);
    const page = await dashboardPage(t, open, `http://127.0.0.1:${port}`, "/generations");
    const { button, submit, fill, choose, sees } = controlsOf(page);
    const begin = async (model: string, prompt: string) => {
      await button("New generation").click();
      await fill("Model", model);
      await fill("Prompt", prompt);
    };
    await sees("Nothing has been generated yet.");
    await begin("image-draft", "A lake");
    await choose("Resolution", "512");
    await sees("It costs $0.002 if it succeeds.");
    await submit("Start");
    await page.locator(".facts .status").getByText("queued").waitFor();
    const before = service.journal.list({ kind: "request" }).length;
    await service.clock.advance("10s");
    const picture = page.getByRole("img", { name: "A lake" });
    await picture.waitFor();
    const width = await picture.evaluate(async (image: unknown) => {
      await (image as Picture).decode();
      return (image as Picture).naturalWidth;
    });
    assert.equal(width, 512);
    assert.equal(service.journal.list({ kind: "request" }).length, before, "watching leaves no trace");

    await button("Run again").click();
    assert.equal(await page.getByRole("dialog").getByLabel("Prompt").inputValue(), "A lake");
    await submit("Close");
    await page.getByRole("link", { name: "Generations", exact: true }).click();
    await begin("video-standard", "Waves");
    await fill("Seconds", "1");
    await submit("Start");
    await page.locator(".facts .status").getByText("queued").waitFor();
    await service.clock.advance("10s");
    await page.locator("video").waitFor();
    const played = await page.locator("video").evaluate(async (element: unknown) => {
      const film = element as Film;
      await film.play();
      await new Promise((seen) => film.addEventListener("timeupdate", seen, { once: true }));
      return [film.videoHeight, film.duration];
    });
    assert.deepEqual(played, [480, 1]);

    await page.getByRole("link", { name: "Generations", exact: true }).click();
    await begin("my-image", "Anything");
    await fill("Other inputs", "[1]");
    await submit("Start");
    await sees("Other inputs must be an object");
    await fill("Other inputs", '{"steps": 20}');
    await submit("Start");
    await page.locator("dt").getByText("steps").waitFor();
    await button("Cancel generation").click();
    await page.locator(".facts .status").getByText("failed").waitFor();
    await button("Cancel generation").waitFor({ state: "detached" });
    await page.goto(`http://127.0.0.1:${port}/dashboard/usage`);
    await sees("$0.052");
    await page.getByRole("cell", { name: "video-standard" }).waitFor();
  });

  await suite.test("the link of an invitation's mail is accepted without a session", async (t) => {
    const database = join(folderOf(t), "service.db");
    const { port, call } = await listeningWorld(t, { mode: "start", clock: "real", random: undefined, database });
    expect(await call("owner", "POST", "/v1/users/invite", { email: "grace@acme.test", role: "viewer" }), 201);
    const admin = await openAdmin(parseOptions({ mode: "start", database }));
    const [mail] = await admin.mails();
    await admin.close();
    const link = /Accept it here: (\S+)/.exec(mail?.text ?? "")?.[1] ?? "";
    const { pathname, hash } = new URL(link);
    assert.equal(pathname, "/dashboard/accept");
    const origin = `http://127.0.0.1:${port}`;
    const page = await dashboardPage(t, open, origin, "/accept#wrong");
    const { button, fill, sees } = controlsOf(page);
    await fill("Your name", "Grace");
    await button("Accept").click();
    await sees("No pending invitation has this token.");
    await page.goto("about:blank");
    await page.goto(origin + pathname + hash);
    await fill("Your name", "<i>Grace</i>");
    await page.keyboard.press("Enter");
    assert.match(await page.getByLabel("Your API key").inputValue(), /^sk_live_\w{40}$/);
    // The used token leaves the URL.
    await page.waitForURL((url) => url.hash === "");
    await button("Go to the dashboard").click();
    await sees("viewer of acme");
    await page.locator(".who").getByText("<i>Grace</i>").waitFor();
  });

  await suite.test("in dev the link works too, and the page acts as the new member", async (t) => {
    const { port, call } = await listeningWorld(t);
    expect(await call("stranger", "POST", "/v1/users/invite", { email: "eve@globex.test", role: "admin" }), 201);
    const { data } = expect(await call("nobody", "GET", "/_svc/mail"), 200);
    const origin = `http://127.0.0.1:${port}`;
    const page = await dashboardPage(t, open, origin, `/accept#${data[0].token}`);
    const { button, fill } = controlsOf(page);
    await fill("Your name", "Eve");
    await button("Accept").click();
    await button("Go to the dashboard").click();
    await page.locator("option:checked").getByText("Eve, admin of globex").waitFor({ state: "attached" });
  });

  await suite.test("the overview leaves out what a key may not read", async (t) => {
    const { port, call } = await listeningWorld(t, { mode: "start", clock: "real", random: undefined });
    const scopes = ["projects:read", "deployments:read"];
    const { key } = expect(await call("owner", "POST", "/v1/api-keys", { name: "narrow", scopes }), 201);
    const page = await dashboardPage(t, open, `http://127.0.0.1:${port}`);
    const { button, fill } = controlsOf(page);
    await fill("API key", key);
    await button("Sign in").click();
    await page.getByText("Nothing has been deployed yet.", { exact: false }).waitFor();
    await page.locator("pre").getByText("https://your-server.example/hooks").waitFor();
    assert.equal(await page.getByText("inbox.test").count(), 0, "only dev has an inbox");
    await page.keyboard.press("Control+k");
    await page.getByRole("option", { name: "Overview" }).waitFor();
  });

  await suite.test("the first steps are ticked, each one that is done", async (t) => {
    const { port, call, project, deploy } = await listeningWorld(t);
    const page = await dashboardPage(t, open, `http://127.0.0.1:${port}`);
    const done = (count: number) =>
      page
        .locator("li.done")
        .nth(count - 1)
        .waitFor();
    await page.getByText("Nothing has been deployed yet.", { exact: false }).waitFor();
    expect(await call("owner", "POST", "/v1/webhooks", { url: "https://a.inbox.test/", events: ["*"] }), 201);
    await done(1);
    const { id } = await project();
    await done(2);
    await deploy(id);
    await page.getByRole("heading", { name: "Latest deployments" }).waitFor();
    await page.getByRole("heading", { name: "First steps" }).waitFor({ state: "detached" });
  });

  await suite.test("events are listed as they happen, and by name; the last hour is drawn", async (t) => {
    const { port, project, deploy } = await listeningWorld(t);
    const { id } = await project("till");
    const page = await dashboardPage(t, open, `http://127.0.0.1:${port}`, "/events");
    const { choose, sees } = controlsOf(page);
    await page.locator("summary").getByText("project.created").click();
    await sees('"region": "eu-west-1"');
    await deploy(id);
    await page.locator("summary").getByText("deployment.queued").waitFor();
    await choose("Event", "project.created");
    await page.locator("summary").getByText("deployment.queued").waitFor({ state: "detached" });
    await page.locator("summary").getByText("project.created").waitFor();
    assert.equal(await page.locator("summary").count(), 1);
    await page.getByRole("link", { name: "System", exact: true }).click();
    await page.getByRole("heading", { name: "Memory" }).waitFor();
    assert.match((await page.locator(".key").getByText("resident").textContent()) ?? "", /\d+ MB/);
    await page.getByLabel("Act as").selectOption({ label: "viewer, viewer of acme" });
    await sees("Your role viewer cannot see this; it needs owner or admin.");
  });
});

interface Picture {
  readonly naturalWidth: number;
  decode(): Promise<void>;
}
interface Film {
  readonly videoHeight: number;
  readonly duration: number;
  play(): Promise<void>;
  addEventListener(name: string, run: (value: unknown) => void, options: object): void;
}
