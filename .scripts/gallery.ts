// `npm run gallery [FOLDER]`: takes a screenshot of every dashboard page for review, in two themes and four widths.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import demo from "../fixtures/demo.json" with { type: "json" };
import { createService, type Seed } from "../lib/index.ts";
import { chromiumProgram, quiet } from "../test/helpers/browser.ts";
import { fillDashboard } from "../test/helpers/dashboard-world.ts";

const folder = process.argv[2] ?? mkdtempSync(join(tmpdir(), "svc-gallery-"));
if (chromiumProgram === undefined) throw new Error("there is no Chromium on this machine (apt-get install chromium)");

const service = await createService({ clock: "manual@2026-01-01T09:00:00Z", seed: demo as Seed, random: "gallery" });
const { url } = await service.listen();
const empty = await createService({ clock: "manual@2026-01-01T09:00:00Z", random: "empty" });
const other = await empty.listen();
const hosted = await createService({ mode: "start", logLevel: "silent" });
const start = await hosted.listen();
const made = await fillDashboard(service);

const pages: Readonly<Record<string, string>> = {
  overview: `${url}/dashboard`,
  "overview-empty": `${other.url}/dashboard`,
  projects: `${url}/dashboard/projects`,
  project: `${url}/dashboard/projects/${made.project}`,
  deployments: `${url}/dashboard/deployments`,
  deployment: `${url}/dashboard/deployments/${made.running}`,
  log: `${url}/dashboard/deployments/${made.failed}?line=58`,
  webhooks: `${url}/dashboard/webhooks`,
  webhook: `${url}/dashboard/webhooks/${made.hook}`,
  delivery: `${url}/dashboard/integrations/${made.chat}/${made.delivery}`,
  environment: `${url}/dashboard/projects/${made.project}/production`,
  generations: `${url}/dashboard/generations`,
  generation: `${url}/dashboard/generations/${made.film}`,
  usage: `${url}/dashboard/usage`,
  integrations: `${url}/dashboard/integrations`,
  integration: `${url}/dashboard/integrations/${made.chat}`,
  events: `${url}/dashboard/events`,
  system: `${url}/dashboard/system`,
  accept: `${start.url}/dashboard/accept#token`,
  people: `${url}/dashboard/people`,
  keys: `${url}/dashboard/keys`,
  timeline: `${url}/dashboard/timeline?at=2026-01-01T09:01:02Z`,
  inbox: `${url}/dashboard/inbox?delivery=${made.caught}`,
  mail: `${url}/dashboard/mail`,
  scenarios: `${url}/dashboard/scenarios`,
  faults: `${url}/dashboard/faults`,
  snapshots: `${url}/dashboard/snapshots?from=${made.snapshot}`,
  "sign-in": `${start.url}/dashboard`,
};

/** Overlays of a page, by the key that opens them. */
const overlays = [
  [".", "calls"],
  ["Control+k", "palette"],
  ["?", "help"],
] as const;

const browser = await chromium.launch({ executablePath: chromiumProgram, args: quiet });
for (const colorScheme of ["light", "dark"] as const) {
  for (const width of [390, 768, 1280, 2560]) {
    const height = width === 2560 ? 1440 : 900;
    const context = await browser.newContext({ colorScheme, viewport: { width, height }, hasTouch: width < 1000 });
    const page = await context.newPage();
    for (const [name, address] of Object.entries(pages)) {
      await page.goto(address);
      await page.locator("h1").waitFor();
      await page.waitForLoadState("networkidle");
      const take = (what: string) => page.screenshot({ path: join(folder, `${what}-${colorScheme}-${width}.png`) });
      await take(name);
      for (const [key, what] of name === "deployment" ? overlays : []) {
        await page.keyboard.press(key);
        await page.waitForLoadState("networkidle");
        await take(what);
        await page.keyboard.press("Escape");
      }
    }
    await context.close();
  }
}
await browser.close();
for (const one of [service, empty, hosted]) await one.close();
console.log(folder);
