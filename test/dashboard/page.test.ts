import assert from "node:assert/strict";
import { test } from "node:test";
import { simulatedDeployments } from "../../lib/drivers/deployment/simulated.ts";
import { browser, noBrowser } from "../helpers/browser.ts";
import { cutAt, dashboardPage, findingsOf } from "../helpers/dashboard-page.ts";
import { fillDashboard } from "../helpers/dashboard-world.ts";
import { isLong } from "../helpers/properties.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";
import { keyOf } from "../helpers/test-service.ts";

const hosted = { mode: "start", clock: "real", random: undefined } as const;

test("Chromium", { skip: noBrowser || (!isLong && "npm run test:dashboard runs it") }, async (suite) => {
  const { open } = await browser(suite);

  await suite.test("sign in, make a project, deploy, see it live, sign out", async (t) => {
    // The deployment cannot end before it is cancelled.
    const driver = simulatedDeployments(() => ({ durations: { building: "1h" } }));
    const { port } = await listeningWorld(t, { ...hosted, deployments: { driver } });
    const page = await dashboardPage(t, open, `http://127.0.0.1:${port}`);
    const button = (name: string) => page.getByRole("button", { name, exact: true });
    const fill = (name: string, text: string) => page.getByLabel(name, { exact: true }).fill(text);

    await fill("API key", "sk_live_wrong");
    await button("Sign in").click();
    await page.getByText("This API key is not valid", { exact: false }).waitFor();
    await fill("API key", keyOf("owner"));
    await page.keyboard.press("Enter");
    await page.getByText("Nothing has been deployed yet.", { exact: false }).waitFor();

    await page.getByRole("link", { name: "Projects", exact: true }).click();
    await button("New project").click();
    await fill("Name", "ab");
    await fill("Region", "eu-west-1");
    await button("Create").click();
    await page.getByText("Name must have 3 to 64 characters.").waitFor();
    await fill("Name", "<b>web</b>");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "<b>web</b>" }).waitFor();

    await button("Deploy").click();
    await fill("Environment", "production");
    await fill("Repository", "https://github.com/acme/web.git");
    await fill("Branch", "main");
    await page.getByRole("dialog").getByRole("button", { name: "Deploy" }).click();
    await page.getByRole("button", { name: "Cancel deployment" }).waitFor();
    await page.getByText("acme/web branch main").waitFor();
    await button("Cancel deployment").click();
    await page.locator(".facts").getByText("cancelled").waitFor();
    assert.equal(await button("Cancel deployment").count(), 0);

    await button("Sign out").click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await page.reload();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
  });

  await suite.test("what a role may not do is disabled, with the reason; a session ends with its key", async (t) => {
    const { port, send, project } = await listeningWorld(t, hosted);
    await project();
    const page = await dashboardPage(t, open, `http://127.0.0.1:${port}`, "/projects");
    await page.getByLabel("API key").fill(keyOf("viewer"));
    await page.getByRole("button", { name: "Sign in" }).click();
    const create = page.getByRole("button", { name: "New project" });
    await create.waitFor();
    assert.equal(await create.isDisabled(), true);
    const reason = await create.getAttribute("aria-describedby");
    assert.equal(
      await page.locator(`[id="${reason}"]`).textContent(),
      "Your role viewer cannot do this; it needs owner or admin.",
    );
    const { data } = (await send("GET", "/v1/api-keys")).body;
    await send("DELETE", `/v1/api-keys/${data.find(({ name }: { name: string }) => name === "viewer").id}`);
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
  });

  await suite.test("pages follow what happens, without a reload", async (t) => {
    const { port, service, deploy } = await listeningWorld(t);
    const { project, live, failed, running } = await fillDashboard(service);
    const page = await dashboardPage(t, open, `http://127.0.0.1:${port}`, "/deployments?environment=canary");
    await page.getByText("No deployment matches these filters.").waitFor();
    const { id } = await deploy(project, { environment: "canary" });
    await page.getByRole("link", { name: `…${id.slice(-8)}` }).click();
    const state = page.locator(".facts .status");
    await state.getByText("queued").waitFor();
    await page.getByRole("button", { name: "+2m" }).click();
    await state.getByText("active").waitFor();
    await page
      .getByRole("status")
      .getByText(/jobs? ran/)
      .waitFor();
    await page.getByLabel("Lines", { exact: true }).getByText("deployment", { exact: false }).first().waitFor();

    await page.goto(`http://127.0.0.1:${port}/dashboard/deployments/${failed}?line=58`);
    await page.locator(".line.linked").getByText("step", { exact: false }).waitFor();
    await page.locator(".line").getByText("<img src=x onerror=alert(1)>").waitFor();
    await page.locator(".line").getByText("98000 more characters").waitFor();
    await page.getByLabel("Search").fill("part-7.");
    await page.getByText("1 found").waitFor();
    await page.keyboard.press("Enter");
    await page.locator(".line.chosen").getByText("lib/part-7.ts").waitFor();
    assert.equal(await page.getByRole("checkbox", { name: "Follow" }).isChecked(), false);

    // Rolls back from the release after the first; a viewer may not.
    assert.notEqual(live, running);
    await page.goto(`http://127.0.0.1:${port}/dashboard/deployments/${running}`);
    await page.getByRole("button", { name: "Roll back" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("comes back to production", { exact: false }).waitFor();
    await dialog.getByRole("button", { name: "Roll back" }).click();
    await page.waitForURL((url) => !url.pathname.endsWith(running));
    await state.getByText("queued").waitFor();
    await page.getByLabel("Act as").selectOption({ label: "viewer, viewer of acme" });
    await page.locator("button:disabled").getByText("Roll back").waitFor();
  });

  await suite.test("every page is accessible in both themes, loads little, and asks nobody else", async (t) => {
    const { port, service } = await listeningWorld(t);
    const made = await fillDashboard(service);
    const page = await dashboardPage(t, open, `http://127.0.0.1:${port}`);
    const session = await page.context().newCDPSession(page);
    await session.send("Network.enable");
    let bytes = 0;
    const files = new Set<string>();
    session.on("Network.responseReceived", ({ requestId, type, response }) => {
      // Calls that the reload interrupts also have the type Other.
      const isCall = /^\/(dashboard\/(api|session|media)|_svc)\b/.test(new URL(response.url).pathname);
      if (!isCall && /^(Document|Script|Stylesheet|Image|Other)$/.test(type)) files.add(requestId);
    });
    session.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
      if (files.has(requestId)) bytes += encodedDataLength;
    });
    await session.send("Network.setCacheDisabled", { cacheDisabled: true });
    await page.reload({ waitUntil: "networkidle" });
    assert.ok(bytes > 10_000 && bytes <= 75_000, `the first load takes ${bytes} bytes`);
    await session.detach();

    const found: string[] = [];
    const { project, failed, hook, film, chat, delivery } = made;
    const paths = [
      "",
      "/projects",
      `/projects/${project}`,
      "/deployments",
      `/deployments/${failed}`,
      "/requests",
      "/requests/1",
      "/webhooks",
      `/webhooks/${hook}`,
      `/projects/${project}/production`,
      "/generations",
      `/generations/${film}`,
      "/usage",
      "/integrations",
      `/integrations/${chat}`,
      `/integrations/${chat}/${delivery}`,
      "/events",
      "/system",
      "/accept",
      "/people",
      "/keys",
    ];
    for (const path of paths) {
      await page.goto(`http://127.0.0.1:${port}/dashboard${path}`);
      await page.getByText("Loading…").waitFor({ state: "detached" });
      await page.getByRole("heading", { level: 1 }).waitFor();
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
        // The themes differ only in their colours.
        found.push(...(await findingsOf(page, colorScheme === "light" ? undefined : "color-contrast")));
      }
      for (const width of [390, 768, 1280, 2560]) found.push(...(await cutAt(page, width)));
      await page.setViewportSize({ width: 1280, height: 720 });
    }
    assert.deepEqual(found, []);
  });

  await suite.test("every page is in sight at 700 px, and the palette finds records and does things", async (t) => {
    const { port, service } = await listeningWorld(t);
    const { hook, film } = await fillDashboard(service);
    const page = await dashboardPage(t, open, `http://127.0.0.1:${port}`, "/events");
    await page.setViewportSize({ width: 1280, height: 700 });
    const links = page.getByLabel("Pages").getByRole("link");
    assert.ok((await links.count()) > 15);
    const foot = await page.locator(".rail-foot").boundingBox();
    for (const link of await links.all()) {
      const box = await link.boundingBox();
      assert.ok(box && foot && box.y >= 0 && box.y + box.height <= foot.y, `${await link.textContent()}`);
    }
    const find = async (text: string, path: string) => {
      await page.keyboard.press("Control+k");
      await page.keyboard.type(text);
      await page.keyboard.press("Enter");
      await page.waitForURL(`**/dashboard${path}`);
      await page.getByRole("heading", { level: 1 }).waitFor();
    };
    await find("waves at", `/generations/${film}`);
    await find("shop.inbox.test/hooks", `/webhooks/${hook}`);
    await find("failed deployments", "/deployments?status=failed");
    await find("viewer", "/people");
    await find("new api key", "/keys");
    await page.getByRole("dialog", { name: "New API key" }).waitFor();
    // On a phone the navigation is a menu.
    await page.keyboard.press("Escape");
    await page.setViewportSize({ width: 390, height: 844 });
    assert.equal(await links.first().isVisible(), false);
    await page.getByRole("button", { name: "Menu" }).click();
    await page.getByRole("link", { name: "Webhooks", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "Webhooks" }).waitFor();
    assert.equal(await links.first().isVisible(), false);
  });
});
