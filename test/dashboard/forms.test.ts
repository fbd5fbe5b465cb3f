import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { browser, noBrowser } from "../helpers/browser.ts";
import { controlsOf, dashboardPage, findingsOf } from "../helpers/dashboard-page.ts";
import { isLong } from "../helpers/properties.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";

test("Chromium: what the forms offer", {
  skip: noBrowser || (!isLong && "npm run test:dashboard runs it"),
}, async (suite) => {
  const { open } = await browser(suite);

  const opened = async (t: TestContext, path = "") => {
    const here = await listeningWorld(t);
    const origin = `http://127.0.0.1:${here.port}`;
    const page = await dashboardPage(t, open, origin, path);
    return { ...here, origin, page, client: here.service.client(), ...controlsOf(page) };
  };

  await suite.test("a conflict stands at the field that caused it, and the field has the focus", async (t) => {
    const { page, origin, client, project, button, submit, fill } = await opened(t, "/projects");
    await project("web");
    const refused = async (field: string, text: RegExp) => {
      await page.getByRole("alert").getByText(text).waitFor();
      const about = await page.getByLabel(field, { exact: true }).getAttribute("aria-describedby");
      assert.match((await page.locator(`[id="${about?.split(" ")[0]}"]`).textContent()) ?? "", text);
      assert.equal(await page.locator("input:focus").getAttribute("name"), field.toLowerCase());
      await page.keyboard.press("Escape");
    };
    await button("New project").click();
    await fill("Name", "web");
    await fill("Description", "another one");
    await submit("Create");
    await refused("Name", /^Another project is named "web"/);
    await client.users.invite({ email: "bo@acme.test", role: "viewer" });
    await page.goto(`${origin}/dashboard/people`);
    await button("Invite").click();
    await fill("Email", "bo@acme.test");
    await submit("Invite");
    await refused("Email", /^bo@acme\.test has an invitation/);
  });

  await suite.test("a webhook to this machine goes through an inbox, and has a secret of its own", async (t) => {
    const { page, origin, client, button, submit, fill } = await opened(t, "/webhooks");
    await button("New webhook").click();
    await fill("URL", "http://localhost:3000/hooks");
    await page.setViewportSize({ width: 390, height: 844 });
    const cut = await page
      .getByRole("dialog")
      .evaluate((one) => (one as unknown as Box).scrollWidth - (one as unknown as Box).clientWidth);
    assert.equal(cut, 0, "the form fits a phone");
    await page.getByText("localhost-3000-hooks.inbox.test forwards to it.").waitFor();
    await button("Use this inbox").click();
    await page.getByText("The inbox forwards to http://localhost:3000/hooks.").waitFor();
    const secret = await page.getByLabel("Secret", { exact: true }).inputValue();
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{32}$/);
    assert.deepEqual(await findingsOf(page), []);
    await submit("Create");
    await page.getByRole("heading", { name: "https://localhost-3000-hooks.inbox.test/hooks" }).waitFor();
    assert.equal((await client.webhooks.list()).data[0]?.url, "https://localhost-3000-hooks.inbox.test/hooks");
    const inboxes = await (await fetch(`${origin}/_svc/inboxes`)).json();
    assert.deepEqual(
      (inboxes as { data: Inbox[] }).data.map((one) => [one.endpoint, one.forward]),
      [["localhost-3000-hooks", "http://localhost:3000/hooks"]],
    );
    // Each form has a secret of its own.
    await page.goBack();
    await button("New webhook").click();
    assert.notEqual(await page.getByLabel("Secret", { exact: true }).inputValue(), secret);
  });

  await suite.test("a new key says whose it is, is tried by a copied call, and hides", async (t) => {
    const { page, origin, button, submit, fill } = await opened(t, "/keys");
    await button("New API key").click();
    await fill("Name", "ci");
    await submit("Create");
    const key = await page.getByLabel("The new API key", { exact: true }).inputValue();
    await page.getByText("This is the key ci.").waitFor();
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin });
    await button("Copy a call with it").click();
    await button("Copied").waitFor();
    const copied = await page.evaluate("navigator.clipboard.readText()");
    assert.equal(copied, `curl -H "Authorization: Bearer ${key}" ${origin}/v1/projects`);
    assert.deepEqual(await findingsOf(page), []);
    await button("Hide it").click();
    await page.getByLabel("The new API key", { exact: true }).waitFor({ state: "detached" });
  });

  await suite.test("a variable that looks like a secret is one, unless somebody decides otherwise", async (t) => {
    const { page, client, project, button, submit, fill, choose } = await opened(t);
    const { id } = await project("web");
    await client.environments.put({ id, name: "production", variables: {} });
    await page.goto(`${page.url().replace(/\/$/, "")}/projects/${id}/production`);
    const table = page.getByRole("table", { name: "Variables of production" });
    const kind = page.getByLabel("Kind", { exact: true });
    for (const [name, value, expected] of [
      ["PORT", "8080", "plain"],
      ["STRIPE_KEY", "abc", "secret"],
      ["DATABASE_URL", "postgres://web:hush@db.test/web", "secret"],
      ["HOMEPAGE", "https://web.test/a:b@c", "plain"],
    ] as const) {
      await button("Set a variable").click();
      await fill("Variable", name);
      await fill("Value", value);
      assert.equal(await kind.inputValue(), expected, name);
      await submit("Save");
      await table
        .getByRole("row", { name })
        .getByText(expected === "secret" ? "secret" : value)
        .waitFor();
    }
    await button("Set a variable").click();
    await fill("Variable", "SORT_KEY");
    await choose("Kind", "plain");
    await fill("Value", "name");
    await submit("Save");
    await table.getByRole("row", { name: "SORT_KEY" }).getByText("name").waitFor();
    assert.deepEqual((await client.environments.list({ id })).data[0]?.variables, {
      PORT: "8080",
      STRIPE_KEY: { secret: true },
      DATABASE_URL: { secret: true },
      HOMEPAGE: "https://web.test/a:b@c",
      SORT_KEY: "name",
    });
  });

  await suite.test("the events of a receiver are ticked in a list, or typed", async (t) => {
    const { page, client, button, submit, fill } = await opened(t, "/webhooks");
    const tick = (name: string) => page.getByLabel(name, { exact: true });
    await button("New webhook").click();
    await fill("URL", "https://shop.inbox.test/hooks");
    assert.equal(await tick("deployment.failed").count(), 0, "all events are chosen");
    await tick("all events").uncheck();
    await fill("Events", "project.created");
    assert.equal(await tick("project.created").isChecked(), true);
    await tick("deployment.failed").check();
    await tick("user.removed").check();
    await tick("project.created").uncheck();
    assert.equal(await page.getByLabel("Events", { exact: true }).inputValue(), "deployment.failed, user.removed");
    assert.deepEqual(await findingsOf(page), []);
    await submit("Create");
    await page.getByRole("heading", { level: 1, name: "shop.inbox.test" }).waitFor();
    assert.deepEqual((await client.webhooks.list()).data[0]?.events, ["deployment.failed", "user.removed"]);
  });

  await suite.test("an inbox is chosen by name, and answers as people often want", async (t) => {
    const { page, service, button, submit, fill, choose } = await opened(t, "/inbox");
    const answers = () => service.inbox.settings().find(({ endpoint }) => endpoint === "shop")?.responses ?? [];
    await button("Set answers").click();
    await fill("Name", "shop");
    await choose("Answer with", "500, always");
    await submit("Save");
    await page.getByText("500x1000", { exact: true }).waitFor();
    assert.deepEqual(answers(), Array(1000).fill(500));
    await button("Set answers").click();
    await choose("Inbox", "shop");
    assert.equal(await page.getByLabel("Name", { exact: true }).count(), 0);
    await choose("Answer with", "a dropped connection");
    await submit("Save");
    await page.getByText("drop", { exact: true }).waitFor();
    await button("Set answers").click();
    await choose("Inbox", "shop");
    await fill("Next answers", "timeoutx2, 404, 500x3");
    assert.deepEqual(await findingsOf(page), []);
    await submit("Save");
    await page.getByText("timeoutx2, 404, 500x3", { exact: true }).waitFor();
    assert.deepEqual(answers(), [{ timeout: true }, { timeout: true }, 404, 500, 500, 500]);
  });

  await suite.test("a simulated deployment fails where somebody wants it, and only that one", async (t) => {
    const { page, origin, service, project, button, submit, fill, choose } = await opened(t);
    const { id } = await project("web");
    await page.goto(`${origin}/dashboard/projects/${id}`);
    const deploy = async (outcome: string, repository: string) => {
      await button("Deploy").click();
      await fill("Repository", repository);
      await choose("Outcome", outcome);
      await submit("Deploy");
    };
    await deploy("fails the health check", "not a repository");
    await page.getByRole("alert").waitFor();
    assert.deepEqual(await service.scenarios.list(), [], "a refused deployment leaves no scenario");
    await page.keyboard.press("Escape");
    for (const [outcome, state] of [
      ["fails the health check", "failed"],
      ["as usual, or as a scenario says", "active"],
    ] as const) {
      await page.goto(`${origin}/dashboard/projects/${id}`);
      await deploy(outcome, "acme/web");
      await page.getByRole("heading", { name: "web to production" }).waitFor();
      await service.clock.advance("5m");
      await page.locator(".facts .status").getByText(state, { exact: true }).waitFor();
    }
  });

  await suite.test("an inbox with many deliveries is searched, and says that it keeps no more", async (t) => {
    const { page, client, service, fill } = await opened(t);
    await client.webhooks.create({ url: "https://shop.inbox.test/hooks", events: ["project.created"] });
    await client.projects.create({ name: "needle", region: "eu-west-1" });
    await service.settle();
    await page.route("**/_svc/inbox", async (route) => {
      const response = await route.fetch();
      const [first] = (await response.json()).data;
      const others = Array.from({ length: 999 }, (_, i) => ({
        ...first,
        headers: { ...first.headers, "x-service-delivery": `dlv_${i}`, "x-service-event": "user.removed" },
        body: "{}",
      }));
      await route.fulfill({ response, json: { data: [first, ...others] } });
    });
    await page.goto(`${page.url().replace(/\/$/, "")}/inbox`);
    await page.getByText("Only the newest 1,000 are kept.").waitFor();
    await page.getByText("and 800 older. Search for them.").waitFor();
    assert.equal(await page.locator(".entry").count(), 200);
    await page.locator(".entry").nth(199).click();
    // On a phone the chosen one replaces the list.
    await page.setViewportSize({ width: 390, height: 844 });
    const list = page.getByLabel("Deliveries", { exact: true });
    await page.getByRole("heading", { name: "user.removed" }).waitFor();
    assert.equal(await list.isVisible(), false);
    await page.getByRole("button", { name: "All deliveries" }).click();
    await list.waitFor();
    await page.setViewportSize({ width: 1280, height: 800 });
    await fill("Search", "NEEDLE");
    await page.locator(".entry").getByText("project.created").waitFor();
    assert.equal(await page.locator(".entry").count(), 1);
    await page.getByRole("heading", { name: "project.created" }).waitFor();
    await fill("Search", "nothing of this name");
    await page.getByText("No delivery contains this.").waitFor();
    assert.deepEqual(await findingsOf(page), []);
  });

  await suite.test("a scenario that people often want is one press away", async (t) => {
    const { page, service, button, project, deploy } = await opened(t, "/scenarios");
    await button("Health check fails once").click();
    await page.getByRole("row", { name: "the next deployment" }).getByText("fail at health check").waitFor();
    await button("Build takes 10 min once").click();
    await page.getByRole("row", { name: "building 10m" }).waitFor();
    const { id } = await deploy((await project()).id);
    await service.clock.advance("5m");
    assert.equal((await service.client().deployments.get({ id })).status, "failed");
  });
});

type Box = Readonly<Record<"scrollWidth" | "clientWidth", number>>;
type Inbox = Readonly<Record<"endpoint" | "forward", string>>;
