// `npm run picture`: takes the README's picture, fixtures/dashboard.png. The same seed and calls give the same page.
import { chromium } from "playwright-core";
import demo from "../fixtures/demo.json" with { type: "json" };
import { createService, type Seed } from "../lib/index.ts";
import { chromiumProgram, quiet } from "../test/helpers/browser.ts";
import { fillDashboard } from "../test/helpers/dashboard-world.ts";

if (chromiumProgram === undefined) throw new Error("there is no Chromium on this machine (apt-get install chromium)");

const service = await createService({ clock: "manual@2026-01-01T09:00:00Z", seed: demo as Seed, random: "gallery" });
const { url } = await service.listen();
await fillDashboard(service);
const browser = await chromium.launch({ executablePath: chromiumProgram, args: quiet });
const page = await browser.newPage({ viewport: { width: 1120, height: 640 } });
await page.goto(`${url}/dashboard/timeline?at=2026-01-01T09:01:02Z`);
await page.locator("h1").waitFor();
await page.waitForLoadState("networkidle");
await page.screenshot({ path: "fixtures/dashboard.png" });
await browser.close();
await service.close();
