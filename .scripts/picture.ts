// `npm run picture`: takes the README's picture, fixtures/dashboard.png. The same seed and calls give the same page.
import { chromium } from "playwright-core";
import demo from "../fixtures/demo.json" with { type: "json" };
import { createService, type Seed } from "../lib/index.ts";
import { chromiumProgram, quiet } from "../test/helpers/browser.ts";

if (chromiumProgram === undefined) throw new Error("there is no Chromium on this machine (apt-get install chromium)");

const service = await createService({ clock: "manual@2026-01-01T09:00:00Z", seed: demo as Seed, random: "gallery" });
const { url } = await service.listen();
await work();
const browser = await chromium.launch({ executablePath: chromiumProgram, args: quiet });
const page = await browser.newPage({ viewport: { width: 1280, height: 920 }, deviceScaleFactor: 1.5 });
await page.goto(`${url}/dashboard`);
await page.getByRole("heading", { name: "Pictures" }).waitFor();
await page.waitForLoadState("networkidle");
await page.screenshot({ path: "fixtures/dashboard.png" });
await browser.close();
await service.close();

/** A morning of an organization: releases, one that failed, pictures, and a receiver that is down. */
async function work() {
  const client = service.client();
  const developer = service.client({ apiKey: "sk_live_demo_developer" });
  const [web] = (await client.projects.list()).data;
  const api = await client.projects.create({ name: "checkout", region: "us-east-1" });
  const docs = await client.projects.create({ name: "handbook", region: "eu-west-1" });
  await client.webhooks.create({ url: "https://shop.inbox.test/hooks", events: ["*"] });
  await client.webhooks.create({ url: "https://billing.inbox.test/events", events: ["deployment.succeeded"] });
  const deploy = (who: typeof client, project_id = "", environment: string, repo: string, more: object) =>
    who.deployments.create({ project_id, environment, source: { type: "git", repo, ...more } });
  await deploy(client, web?.id, "production", "acme/web", { tag: "v1.4.0" });
  await service.clock.advance("12m");
  await deploy(client, docs.id, "production", "acme/handbook", { branch: "main" });
  await service.clock.advance("31m");
  const message = "src/wallet.ts(42,7): error TS2322: Type 'string' is not assignable to type 'Money'";
  await service.scenarios.next("deployment", { result: "fail", at: "building", message });
  await deploy(developer, api.id, "staging", "acme/checkout", { branch: "feat/wallets" });
  await service.clock.advance("9m");
  for (const [seed, prompt] of ["A harbour at dawn", "A mountain lake in the snow", "A city at night"].entries())
    await client.generations.create({ model: "image-draft", prompt, seed: seed + 3 });
  await service.clock.advance("4m");
  service.inbox.script("billing", [503, 503, 503]);
  await deploy(client, web?.id, "production", "acme/web", { tag: "v1.5.0" });
  await service.clock.advance("50s");
  await deploy(developer, api.id, "production", "acme/checkout", { branch: "main" });
  await service.clock.advance("4s");
}
