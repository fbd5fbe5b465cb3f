// `npm run gallery [FOLDER]`: a screenshot of every page of the dashboard, in two themes and two widths, to be looked at.
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
  "sign-in": `${start.url}/dashboard`,
};

const browser = await chromium.launch({ executablePath: chromiumProgram, args: quiet });
for (const colorScheme of ["light", "dark"] as const) {
  for (const width of [390, 1440]) {
    const context = await browser.newContext({ colorScheme, viewport: { width, height: width === 390 ? 844 : 900 } });
    const page = await context.newPage();
    for (const [name, address] of Object.entries(pages)) {
      await page.goto(address);
      await page.locator("h1").waitFor();
      await page.waitForLoadState("networkidle");
      await page.screenshot({ path: join(folder, `${name}-${colorScheme}-${width}.png`) });
    }
    await context.close();
  }
}
await browser.close();
for (const one of [service, empty, hosted]) await one.close();
console.log(folder);
