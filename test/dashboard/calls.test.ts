import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import { browser, noBrowser } from "../helpers/browser.ts";
import { compiled } from "../helpers/bundle.ts";
import { dashboardPage } from "../helpers/dashboard-page.ts";
import { program, temporaryFolder } from "../helpers/program.ts";
import { isLong } from "../helpers/properties.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";
import { keyOf } from "../helpers/test-service.ts";

const execute = promisify(execFile);
/** The folder in which programs find the package. */
const packageFolder = compiled("../");

/** Runs copied text as people would: in a shell, or as a module. */
function pasteInto(t: TestContext, variables: Readonly<Record<string, string>>) {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, ".curlrc"), "fail-with-body\nsilent\n");
  writeFileSync(join(folder, "svc-server"), `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`, {
    mode: 0o755,
  });
  const PATH = `${folder}${delimiter}${process.env["PATH"]}`;
  const options = { cwd: packageFolder, env: { ...process.env, ...variables, CURL_HOME: folder, PATH } };
  return (form: string, text: string) =>
    form === "TypeScript"
      ? execute(process.execPath, ["--input-type=module", "--eval", text], options)
      : execute("sh", ["-c", text], options);
}

/** Makes a project, a deployment, variables and a webhook, with texts that a shell would split or expand. */
async function act(page: Page): Promise<void> {
  const button = (name: string) => page.getByRole("button", { name, exact: true });
  const fill = (name: string, text: string) => page.getByLabel(name, { exact: true }).fill(text);
  await button("New project").click();
  await fill("Name", `it's a "shop" $HOME \`id\``);
  await fill("Description", "line\u0007 with \u202Eturned text, [1] and ~ marks");
  await button("Create").click();
  await page.getByText("No environment yet.", { exact: false }).waitFor();
  await button("Deploy").click();
  await fill("Repository", "acme/shop");
  await page.getByRole("dialog").getByRole("button", { name: "Deploy" }).click();
  await page.locator(".facts").getByText("queued").waitFor();
  await page.goBack();
  for (const [name, value, kind] of [
    ["PORT", "8080", "plain"],
    ["NOTE", "a, b=c 'd'", "plain"],
    ["DATABASE_URL", "postgres://demo_password", "secret"],
  ] as const) {
    await button("Set a variable").click();
    await fill("Variable", name);
    await fill("Value", value);
    await page.getByLabel("Kind").selectOption(kind);
    await button("Save").click();
    await page.getByRole("rowheader", { name, exact: true }).waitFor();
  }
  await page.getByRole("link", { name: "Webhooks", exact: true }).click();
  await button("New webhook").click();
  await fill("URL", "https://shop.inbox.test/hooks?a=1");
  await fill("Events", "deployment.succeeded, deployment.failed");
  await fill("Secret", "whsec_demo_of_the_shop_0123456789");
  await button("Create").click();
  await page.getByRole("heading", { name: "https://shop.inbox.test/hooks?a=1", level: 1 }).waitFor();
}

/** The names of the calls in one part of the drawer, oldest first. */
async function callsOf(page: Page, part: string): Promise<[name: string, text: string][]> {
  const blocks = await page.getByRole("region", { name: part, exact: true }).locator(".code-text").all();
  return Promise.all(
    blocks
      .reverse()
      .map(async (one) => [(await one.getAttribute("aria-label")) ?? "", (await one.textContent()) ?? ""]),
  );
}

test("Chromium: calls and recordings", {
  skip: noBrowser || (!isLong && "npm run test:dashboard runs it"),
}, async (suite) => {
  const { open } = await browser(suite);

  await suite.test(
    "what the page did and shows works as curl, TypeScript and command, and holds no secret",
    async (t) => {
      const { port, call } = await listeningWorld(t);
      const origin = `http://127.0.0.1:${port}`;
      const page = await dashboardPage(t, open, origin, "/projects");
      await act(page);
      await page.keyboard.press(".");

      const paste = pasteInto(t, {
        SVC_API_KEY: keyOf("owner"),
        SECRET: "whsec_demo_in_the_shell_0123456789",
        SECRET_DATABASE_URL: "x",
      });
      for (const form of ["curl", "TypeScript", "svc-server call"]) {
        await page.getByRole("radio", { name: form, exact: true }).check();
        const did = await callsOf(page, "Made in this tab");
        const shows = await callsOf(page, "Read by this page");
        assert.deepEqual(
          did.map(([name]) => name),
          ["projects.create", "deployments.create", ...Array(3).fill("environments.update"), "webhooks.create"],
        );
        assert.ok(
          shows.some(([name]) => name === "webhooks.get"),
          String(shows.map(([name]) => name)),
        );
        const count = async () => {
          const [projects, hooks, deployments] = await Promise.all(
            ["projects", "webhooks", "deployments"].map((name) => call("owner", "GET", `/v1/${name}`)),
          );
          return [projects, hooks, deployments].map((reply) => reply?.body.data.length);
        };
        const before = await count();
        for (const [name, text] of [...did, ...shows]) {
          assert.doesNotMatch(text, /sk_live_|demo_password|whsec_/, name);
          const ours = name === "projects.create" ? text.replaceAll("shop", form) : text;
          const { stdout } = await paste(form, ours).catch((error) =>
            assert.fail(`${form}: ${ours}\n${error.stdout}${error.stderr}`),
          );
          assert.ok(stdout.length > 0, name);
        }
        assert.deepEqual(
          await count(),
          before.map((one) => one + 1),
          form,
        );
      }
      const { body } = await call("owner", "GET", "/v1/projects");
      const named = body.data.map(({ name, description }: { name: string; description: string }) => [
        name,
        description,
      ]);
      for (const name of ["shop", "curl", "TypeScript", "svc-server call"])
        assert.ok(
          named.some(
            ([one, text]: [string, string]) =>
              one === `it's a "${name}" $HOME \`id\`` && text === "line\u0007 with \u202Eturned text, [1] and ~ marks",
          ),
          `${name} of ${JSON.stringify(named)}`,
        );
    },
  );

  await suite.test("a page shows its own calls, ready to be copied", async (t) => {
    const { port } = await listeningWorld(t);
    const origin = `http://127.0.0.1:${port}`;
    const page = await dashboardPage(t, open, origin, "/webhooks");
    const button = (name: string) => page.getByRole("button", { name, exact: true });
    await page.keyboard.press(".");
    await page.getByLabel("webhooks.list").waitFor({ state: "attached" });
    // The drawer shows only the reads of the current page.
    await page.keyboard.press("Escape");
    await page.getByRole("link", { name: "API keys", exact: true }).click();
    await page.getByRole("heading", { name: "API keys" }).waitFor();
    await button("Calls").click();
    await page.getByLabel("keys.list").waitFor({ state: "attached" });
    assert.equal(await page.getByLabel("webhooks.list").count(), 0);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin });
    await page.getByRole("radio", { name: "curl", exact: true }).check();
    await page.getByText("keys.list", { exact: false }).click();
    const first = page.locator("details.call[open]").filter({ hasText: "keys.list" });
    await first.locator("summary").getByText("/v1/api-keys").waitFor();
    await first.getByRole("button", { name: "Copy" }).click();
    await first.getByRole("button", { name: "Copied" }).waitFor();
    assert.equal(await page.evaluate("navigator.clipboard.readText()"), await first.locator("pre").textContent());
  });
});
