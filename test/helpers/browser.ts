import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { posix } from "node:path";
import type { TestContext } from "node:test";
import { chromium, type Page } from "playwright-core";
import { compiled } from "./bundle.ts";
import { folderOf } from "./temporary-store.ts";

export const chromiumProgram = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(
  existsSync,
);

/** Why browser tests are skipped; false if there is a browser. */
export const noBrowser =
  chromiumProgram === undefined && "there is no Chromium on this machine (apt-get install chromium)";

/** Options that keep the browser's own traffic on this machine. */
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

/** Starts a browser with an empty profile. It closes with the test. */
export async function browser(t: TestContext): Promise<{ open(url: string): Promise<Page> }> {
  // The browser must close before its folder is removed, because it writes into the folder.
  let close = async () => {};
  t.after(() => close());
  const context = await chromium.launchPersistentContext(folderOf(t), {
    executablePath: chromiumProgram ?? "",
    args: quiet,
  });
  close = () => context.close();
  return {
    async open(url) {
      const page = await context.newPage();
      await page.goto(url);
      return page;
    },
  };
}

/** The port of a server that serves an empty page and the modules of the package. */
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
