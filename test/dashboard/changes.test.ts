import assert from "node:assert/strict";
import { test } from "node:test";
import { browser, noBrowser } from "../helpers/browser.ts";
import { controlsOf, dashboardPage } from "../helpers/dashboard-page.ts";
import { fillDashboard } from "../helpers/dashboard-world.ts";
import { isLong } from "../helpers/properties.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";
import { expect } from "../helpers/test-service.ts";

test("Chromium", { skip: noBrowser || (!isLong && "npm run test:dashboard runs it") }, async (suite) => {
  const { open } = await browser(suite);

  await suite.test("an integration: made, edited, its deliveries seen, copied, sent again, recovered", async (t) => {
    const { port, service, project } = await listeningWorld(t);
    const origin = `http://127.0.0.1:${port}`;
    const page = await dashboardPage(t, open, origin, "/integrations");
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin });
    const { button, submit, fill, choose, sees, answered } = controlsOf(page);
    await button("New integration").click();
    await choose("Type", "chat");
    await fill("Webhook URL", "https://chat.inbox.test/s/T0/B0");
    await submit("Create");
    await page.getByRole("heading", { name: "chat.inbox.test" }).waitFor();
    await sees("https://chat.inbox.test/[redacted]");
    await button("Edit").click();
    await fill("Channel", "#it's");
    await submit("Save");
    await page.getByRole("heading", { name: "#it's" }).waitFor();

    service.inbox.script("chat", [500, 500, 500, 500, 500, 500]);
    await project("<b>till</b>");
    await service.clock.advance("3h");
    await page.locator(".facts .status").getByText("inactive").waitFor();
    await page.getByRole("link", { name: "project.created" }).click();
    await page.locator(".attempt-list li").nth(5).waitFor();
    await sees("&lt;b&gt;till&lt;/b&gt;");
    await button("Copy as curl").click();
    await button("Copied").waitFor();
    const command = await page.evaluate(() =>
      (
        globalThis as unknown as { navigator: { clipboard: { readText(): Promise<string> } } }
      ).navigator.clipboard.readText(),
    );
    assert.match(command, /^curl -X POST 'https:\/\/chat\.inbox\.test\/\[redacted\]' \\\n/);
    assert.match(command, /"channel":"#it'\\''s"/);
    await answered("/redeliver", () => button("Send again").click());
    await service.settle();
    await page.locator(".facts .status").getByText("succeeded").waitFor();
    assert.equal(await page.locator(".attempt-list li").count(), 7);

    await page.getByRole("link", { name: "Integration", exact: true }).click();
    await project("other");
    await page.getByRole("cell", { name: "skipped" }).waitFor();
    await button("Turn on").click();
    await page.locator(".facts .status").getByText("active").waitFor();
    await button("Recover").click();
    await choose("Since", "86400000");
    await answered("/recover", () => submit("Send them again"));
    await service.settle();
    await page.getByRole("cell", { name: "skipped" }).waitFor({ state: "detached" });
    await button("Delete").click();
    await submit("Delete");
    await sees("No integration yet.");
  });

  await suite.test("a webhook: another tab follows its changes, and a new secret signs", async (t) => {
    const { port, service } = await listeningWorld(t);
    const origin = `http://127.0.0.1:${port}`;
    const page = await dashboardPage(t, open, origin, "/webhooks");
    const other = await dashboardPage(t, open, origin, "/webhooks");
    const { button, submit, fill, sees, answered } = controlsOf(page);
    await button("New webhook").click();
    await fill("URL", "https://hook.inbox.test/");
    await submit("Create");
    await other.getByRole("link", { name: "https://hook.inbox.test/" }).click();
    await other.locator(".facts .status").getByText("active").waitFor();
    await button("Edit").click();
    await fill("Events", "project.created, user.removed");
    await submit("Save");
    await other.getByText("project.created, user.removed").waitFor();
    await button("Turn off").click();
    await other.locator(".facts .status").getByText("inactive").waitFor();
    await button("New secret").click();
    await fill("Secret", "hush");
    await submit("Save");
    await answered("/test", () => button("Send a test").click());
    await service.settle();
    await page.getByRole("link", { name: "ping" }).click();
    await sees("x-service-signature: sha256=");
  });

  await suite.test("the secret of an integration is kept, replaced and removed", async (t) => {
    const { port, service } = await listeningWorld(t);
    const client = service.client({ apiKey: "sk_live_demo_owner" });
    const config = { url: "https://own.inbox.test/", events: ["*"] as ["*"], secret: "first" };
    const { id } = await client.integrations.create({ type: "custom", config });
    const page = await dashboardPage(t, open, `http://127.0.0.1:${port}`, `/integrations/${id}`);
    const { button, submit, fill } = controlsOf(page);
    const signed = async () => {
      service.inbox.clear();
      await client.integrations.test({ id });
      await service.settle();
      return service.inbox.list()[0]?.headers["x-service-signature"] !== undefined;
    };
    const removal = page.getByLabel("Remove the stored secret");
    const save = async () => {
      await submit("Save");
      await page.getByRole("dialog").waitFor({ state: "detached" });
    };
    await button("Edit").click();
    await fill("Events", "project.created");
    await save();
    assert.ok(await signed(), "an empty field keeps it");
    await button("Edit").click();
    await removal.check();
    await save();
    assert.equal(await signed(), false);
    await page.getByText("[redacted]").waitFor({ state: "detached" });
    await button("Edit").click();
    assert.equal(await removal.count(), 0, "there is none to remove");
    await fill("Secret", "second");
    await save();
    assert.ok(await signed());
  });

  await suite.test("a project and its environments are edited and deleted; another tab follows", async (t) => {
    const { port, service } = await listeningWorld(t);
    const { project } = await fillDashboard(service);
    const origin = `http://127.0.0.1:${port}`;
    const page = await dashboardPage(t, open, origin, `/projects/${project}`);
    const other = await dashboardPage(t, open, origin, `/projects/${project}`);
    const { button, submit, fill, choose, sees } = controlsOf(page);
    await button("Edit").click();
    assert.equal(await page.getByLabel("Description").inputValue(), "The shop");
    await fill("Name", "kasse");
    await submit("Save");
    await other.getByRole("heading", { name: "kasse", level: 1 }).waitFor();
    await button("New environment").click();
    await fill("Environment", "qa.1");
    await submit("Create");
    await page.getByRole("heading", { name: "kasse: qa.1" }).waitFor();
    await button("Edit domains").click();
    await fill("Host names", "qa.example.com, www.qa.example.com");
    await submit("Save");
    await page.getByRole("listitem").getByText("www.qa.example.com").waitFor();
    await button("Set a variable").click();
    await fill("Variable", "TOKEN");
    await fill("Value", "hidden");
    await choose("Kind", "secret");
    await submit("Save");
    await other.getByRole("table", { name: "Variables of qa.1" }).getByText("secret").waitFor();
    assert.equal(await button("Restart").isDisabled(), true);
    await button("Delete environment").click();
    await submit("Delete");
    await page.getByRole("heading", { name: "kasse", level: 1 }).waitFor();
    await other.getByRole("table", { name: "Variables of qa.1" }).waitFor({ state: "detached" });
    await button("Archive").click();
    await other.locator("button:disabled").getByText("Deploy", { exact: true }).waitFor();
    await button("Delete").click();
    await fill("Name of the project", "checkout");
    await submit("Delete");
    await sees("This is not the name of the project.");
    await fill("Name of the project", "kasse");
    await submit("Delete");
    await sees("No project yet.");
    await other.getByRole("alert").waitFor();
  });

  await suite.test(
    "people are suspended and come back; the last owner stays; the organization gets a name",
    async (t) => {
      const { port, call } = await listeningWorld(t);
      const page = await dashboardPage(t, open, `http://127.0.0.1:${port}`, "/people");
      const { button, submit, fill, sees } = controlsOf(page);
      const row = (name: string) => page.getByRole("row").filter({ hasText: `${name}@acme.test` });
      await row("viewer").getByRole("button", { name: "Suspend" }).click();
      await submit("Suspend");
      await row("viewer").waitFor({ state: "detached" });
      await button("Reactivate").click();
      await row("viewer").getByLabel("Role of viewer").selectOption("admin");
      const { data } = expect(await call("owner", "GET", "/v1/users"), 200);
      await row("viewer").locator("option:checked").getByText("admin").waitFor({ state: "attached" });
      assert.equal(data.length, 4);
      const remove = row("owner").getByRole("button", { name: "Remove" });
      assert.equal(await remove.isDisabled(), true);
      const reason = page.locator(`[id="${await remove.getAttribute("aria-describedby")}"]`);
      assert.equal(await reason.textContent(), "This is the last active owner; promote another person first.");
      await button("Invite").click();
      await fill("Email", "grace@acme.test");
      await submit("Invite");
      await sees("grace@acme.test as developer");
      await button("Revoke").click();
      await submit("Revoke");
      await sees("No open invitation.");
      await button("Edit organization").click();
      await fill("Name", "acme & sons");
      await submit("Save");
      await sees("acme & sons, plan pro");
      await page.getByLabel("Act as").selectOption({ label: "admin, admin of acme & sons" });
      await page.locator("button:disabled").getByText("Edit organization").waitFor();
      assert.equal(await page.getByLabel("Role of owner").isDisabled(), true);
    },
  );
});
