import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { browser, noBrowser } from "../helpers/browser.ts";
import { dashboardPage, findingsOf } from "../helpers/dashboard-page.ts";
import { fillDashboard } from "../helpers/dashboard-world.ts";
import { isLong } from "../helpers/properties.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";

test("Chromium: the instruments of dev", {
  skip: noBrowser || (!isLong && "npm run test:dashboard runs it"),
}, async (suite) => {
  const { open } = await browser(suite);

  const opened = async (t: TestContext, path: string) => {
    const here = await listeningWorld(t);
    const origin = `http://127.0.0.1:${here.port}`;
    const page = await dashboardPage(t, open, origin, path);
    const button = (name: string) => page.getByRole("button", { name, exact: true });
    const submit = (name: string) => page.getByRole("dialog").getByRole("button", { name, exact: true });
    const fill = (name: string, text: string) => page.getByLabel(name, { exact: true }).fill(text);
    return {
      ...here,
      page,
      origin,
      button,
      submit,
      fill,
      client: here.service.client({ apiKey: "sk_live_demo_owner" }),
    };
  };

  await suite.test("the inbox: answers are set, deliveries arrive live, and a signature is checked", async (t) => {
    const { page, button, submit, fill, client, service, project } = await opened(t, "/inbox");
    await page.getByText("No delivery yet.", { exact: false }).waitFor();
    await button("Set answers").click();
    await fill("Name", "shop");
    await fill("Next answers", "500, timeout, banana");
    await submit("Save").click();
    await page.getByRole("alert").getByText("Next answers: banana", { exact: false }).waitFor();
    await fill("Next answers", "500, timeout, drop");
    await submit("Save").click();
    await page.getByText("500, timeout, drop").waitFor();
    assert.deepEqual(service.inbox.settings()[0]?.responses, [500, { timeout: true }, { drop: true }]);

    await client.webhooks.create({ url: "https://shop.inbox.test/hooks", events: ["*"], secret: "hush" });
    await project();
    await service.settle();
    await page.locator(".entry").getByText("project.created").click();
    await page.getByText("POST https://shop.inbox.test/hooks").waitFor();
    await fill("Secret", "wrong");
    await button("Check the signature").click();
    await page.getByText("The signature does not match this secret.").waitFor();
    await fill("Secret", "hush");
    await page.keyboard.press("Enter");
    await page.getByText("The signature is valid.").waitFor();
    await button("Show the raw text").click();
    await page.locator("pre").getByText('{"event":"project.created"', { exact: false }).waitFor();

    await button("Set answers").click();
    await fill("Name", "other");
    await fill("Forward to", "http://localhost:9/hooks");
    await submit("Save").click();
    await page.getByText("http://localhost:9/hooks").waitFor();
    await button("Stop forwarding").click();
    await page.getByText("http://localhost:9/hooks").waitFor({ state: "detached" });
    await button("Clear").click();
    await submit("Clear").click();
    await page.getByText("No delivery yet.", { exact: false }).waitFor();
    assert.deepEqual(service.inbox.list(), []);
  });

  await suite.test("mail: an invitation is read and accepted", async (t) => {
    const { page, button, submit, fill, client, service } = await opened(t, "/mail");
    await page.getByText("No mail yet.", { exact: false }).waitFor();
    await client.users.invite({ email: "new@acme.test", role: "developer" });
    await page.locator(".entry").getByText("new@acme.test").waitFor();
    const link = await page.getByRole("link", { name: "Open the invitation" }).getAttribute("href");
    assert.match(link ?? "", /accept#[\w=]+$/);
    await page.frameLocator("iframe").getByText("invites you to join acme").waitFor();
    await button("Text").click();
    await page.locator(".mail-text").getByText("Accept it here").waitFor();
    await fill("Search", "nobody");
    await page.getByText("No mail contains this.").waitFor();
    await fill("Search", "NEW@acme");
    await page.locator(".entry").getByText("new@acme.test").waitFor();
    await button("Accept the invitation").click();
    await fill("Name", "Newcomer");
    await submit("Accept").click();
    assert.match(await page.getByLabel("The API key of the new member").inputValue(), /^sk_live_\w+$/);
    await button("Accept the invitation").click();
    await fill("Name", "Again");
    await submit("Accept").click();
    await page
      .getByRole("alert")
      .getByText("Not found", { exact: false })
      .or(page.getByRole("alert"))
      .first()
      .waitFor();
    await submit("Close").click();
    await button("Clear").click();
    await submit("Clear").click();
    await page.getByText("No mail yet.", { exact: false }).waitFor();
    assert.deepEqual(await service.mails(), []);
  });

  await suite.test("the deliveries to order are of integrations too, next to many webhooks", async (t) => {
    const { port, service } = await listeningWorld(t);
    const client = service.client({ apiKey: "sk_live_demo_owner" });
    for (let i = 0; i < 20; i++)
      await client.webhooks.create({ url: `https://hook${i}.inbox.test/in`, events: ["user.removed"] });
    const config = { webhook_url: "https://chat.inbox.test/in", channel: "#ops" };
    const { id, name } = await client.integrations.create({ type: "chat", config });
    await client.integrations.test({ id });
    const page = await dashboardPage(t, open, `http://127.0.0.1:${port}`, "/timeline");
    await page.getByLabel("Deliveries to order").getByText(name).waitFor();
  });

  await suite.test("scenarios and faults are added, used, and removed one by one", async (t) => {
    const { page, origin, button, submit, fill, service, project, deploy } = await opened(t, "/scenarios");
    await page.setViewportSize({ width: 1280, height: 600 });
    await button("New scenario").click();
    const add = await page.getByRole("dialog").getByRole("button", { name: "Add", exact: true }).boundingBox();
    assert.ok(add && add.y + add.height <= 600, "the buttons of a long form are in sight");
    await fill("branch", "main");
    await fill("Message", "npm ERR!");
    await fill("building", "soon");
    await submit("Add").click();
    await page.getByRole("alert").getByText("building must", { exact: false }).waitFor();
    await fill("building", "5s");
    await fill("Times", "1");
    await submit("Add").click();
    await page.getByText("fail at building: npm ERR!").waitFor();
    await deploy((await project()).id);
    await page.getByRole("cell", { name: "1 of 1" }).waitFor();
    await button("New scenario").click();
    await page.getByLabel("Result").selectOption("rolled_back");
    await page.getByLabel("For", { exact: true }).selectOption("next deployment");
    await submit("Add").click();
    const next = page.getByRole("row", { name: "the next deployment" });
    await next.getByText("rolled back").waitFor();
    await next.getByRole("button", { name: "Remove" }).click();
    await submit("Remove").click();
    await next.waitFor({ state: "detached" });
    await button("Add JSON").click();
    await page.getByLabel("JSON", { exact: true }).fill("{");
    await submit("Add").click();
    await page.getByRole("alert").getByText("This is not JSON", { exact: false }).waitFor();
    await page.getByLabel("JSON", { exact: true }).fill('{"next":"generation","outcome":{"result":"fail"}}');
    await submit("Add").click();
    await page.getByRole("row", { name: "the next generation" }).getByRole("button", { name: "Remove" }).click();
    await submit("Remove").click();
    await page.getByText("the next generation").waitFor({ state: "detached" });
    assert.equal((await service.scenarios.list()).length, 1);

    await page.getByRole("link", { name: "Faults", exact: true }).click();
    await button("503 once").click();
    await page.getByText("any method /v1/*").waitFor();
    await button("New fault").click();
    await fill("Path", "/nowhere");
    await submit("Add").click();
    await page.getByRole("alert").getByText("Path must begin with /v1", { exact: false }).waitFor();
    await fill("Path", "/v1/me");
    await page.getByLabel("Effect").selectOption("drop");
    await submit("Add").click();
    await page.getByText("the connection drops before any work", { exact: true }).first().waitFor();
    assert.equal((await fetch(`${origin}/v1/projects`)).status, 503);
    await page.getByRole("cell", { name: "1 of 1" }).waitFor();
    await page.getByRole("row", { name: "/v1/*" }).getByRole("button", { name: "Remove" }).click();
    await submit("Remove").click();
    await page.getByText("any method /v1/*").waitFor({ state: "detached" });
    assert.deepEqual(
      service.faults.list().map(({ match }) => match.path),
      ["/v1/me"],
    );
  });

  await suite.test("snapshots: taken, compared, forked, restored, deleted", async (t) => {
    const { page, button, submit, fill, service, project, origin } = await opened(t, "/snapshots");
    await button("Take a snapshot").click();
    await fill("Name", "the start");
    await submit("Take").click();
    await page.getByRole("cell", { name: "the start" }).waitFor();
    await page.getByLabel("From", { exact: true }).selectOption({ label: "the start (snap_1)" });
    await page.getByText("No record differs.").waitFor();
    const { id } = await project("shop");
    const added = page.getByRole("row", { name: `added project ${id}` });
    await added.getByText("shop", { exact: false }).waitFor();
    await button("Fork").click();
    const link = page.getByRole("link", { name: /^fork_1 at / });
    const url = await link.getAttribute("href");
    assert.equal((await fetch(url ?? "")).status, 200);
    assert.notEqual(new URL(url ?? "").origin, origin);
    await page.getByRole("row", { name: "fork_1" }).getByRole("button", { name: "Delete" }).click();
    await submit("Delete").click();
    await link.waitFor({ state: "detached" });
    await button("Restore").click();
    await page.getByRole("dialog").getByText("project: 1 added").waitFor();
    await submit("Restore").click();
    await page.getByText("No record differs.").waitFor();
    assert.deepEqual((await service.client({ apiKey: "sk_live_demo_owner" }).projects.list({})).data, []);
    await button("Delete").click();
    await submit("Delete").click();
    await page.getByText("No snapshot yet.", { exact: false }).waitFor();
    await project("kiosk");
    await button("Reset").click();
    await page.getByText("what it was when the service started, at 20", { exact: false }).waitFor();
    await submit("Reset").click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    assert.deepEqual((await service.client({ apiKey: "sk_live_demo_owner" }).projects.list({})).data, []);
  });

  await suite.test("every page is accessible, and nothing scrolls sideways", async (t) => {
    const { page, origin, service } = await opened(t, "");
    await fillDashboard(service);
    await service.snapshot({ name: "one" });
    await service.client({ apiKey: "sk_live_demo_owner" }).users.invite({ email: "new@acme.test", role: "viewer" });
    service.faults.add({ match: { path: "/v1/none" }, respond: { status: 503 } });
    const found: string[] = [];
    for (const path of ["/timeline", "/inbox", "/mail", "/scenarios", "/faults", "/snapshots?from=snap_1"])
      for (const width of [390, 1440]) {
        await page.setViewportSize({ width, height: 900 });
        await page.goto(`${origin}/dashboard${path}`);
        await page.waitForLoadState("networkidle");
        await page.getByRole("heading", { level: 1 }).waitFor();
        for (const colorScheme of width === 390 ? [] : (["light", "dark"] as const)) {
          await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
          found.push(...(await findingsOf(page, colorScheme === "light" ? undefined : "color-contrast")));
        }
        const [inner = 0, outer = 0] = (await page.evaluate(
          "[document.documentElement.scrollWidth, innerWidth]",
        )) as number[];
        if (inner > outer) found.push(`${path} scrolls sideways at ${width}`);
      }
    assert.deepEqual(found, []);
  });
});
