import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, posix } from "node:path";
import type { TestContext } from "node:test";
import { chromium, type Page } from "playwright-core";
import { compiled } from "./bundle.ts";

export const chromiumProgram = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(
  existsSync,
);

/** Why tests with a browser are skipped; false where there is one. */
export const noBrowser =
  chromiumProgram === undefined && "there is no Chromium on this machine (apt-get install chromium)";

/** Nothing of the browser's own leaves the machine. */
export const quiet = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
];

/** A browser with an empty profile, which closes with the test. */
export async function browser(t: TestContext): Promise<{ open(url: string): Promise<Page> }> {
  const profile = mkdtempSync(join(tmpdir(), "svc-test-browser-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: chromiumProgram ?? "",
    args: quiet,
  });
  // A browser that runs still writes into its profile.
  t.after(async () => {
    await context.close();
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  });
  return {
    async open(url) {
      const page = await context.newPage();
      await page.goto(url);
      return page;
    },
  };
}

/** The port of a server of pages: an empty one, and the modules of the package. */
export async function pages(t: TestContext): Promise<number> {
  const server = createServer(({ url = "/" }, response) => {
    const file = compiled(posix.normalize(url));
    const isModule = url.endsWith(".js") && existsSync(file);
    response.setHeader("content-type", isModule ? "text/javascript" : "text/html");
    response.end(isModule ? readFileSync(file) : "<!doctype html><title>a page</title>");
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}
