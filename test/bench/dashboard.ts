import { type CDPSession, chromium, type Page } from "playwright-core";
import { createService } from "../../lib/index.ts";
import { chromiumProgram, quiet } from "../helpers/browser.ts";
import { type Figure, figure, percentile } from "./figures.ts";

/**
 * The dashboard in Chromium, over loopback: the first load, the latency of a change, a log of 10,000 lines, and the
 * list of all deployments in the database.
 */
const [database = "", key = "", count = "0"] = process.argv.slice(2);
if (chromiumProgram === undefined) throw new Error("there is no Chromium on this machine (apt-get install chromium)");
const rounds = 7;
const lines = 10_000;

/**
 * Source text that runs in the page: records when an element first appears, in milliseconds by the page's clock and the
 * machine's.
 */
const watch = (selector: string) => `
  globalThis.seen = new Promise((done) => {
    const look = () => {
      if (!document.querySelector(${JSON.stringify(selector)})) return;
      observer.disconnect();
      requestAnimationFrame(() => setTimeout(() => {
        const page = performance.now();
        done({ page, machine: performance.timeOrigin + page });
      }));
    };
    const observer = new MutationObserver(look);
    observer.observe(document, { childList: true, subtree: true, attributes: true });
  });
  undefined;`;
const seen = (page: Page) => page.evaluate<{ page: number; machine: number }>("globalThis.seen");
const now = () => performance.timeOrigin + performance.now();

const browser = await chromium.launch({ executablePath: chromiumProgram, args: quiet });

/** A page whose every document watches for the selector. */
async function opened(url: string, selector: string): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  await page.addInitScript(watch(selector));
  await page.goto(url);
  return page;
}

/** The milliseconds from the start of each page load to its first data, with or without the browser's cache. */
async function paints(page: Page, session: CDPSession, url: string, cacheDisabled: boolean): Promise<number[]> {
  await session.send("Network.setCacheDisabled", { cacheDisabled });
  const all: number[] = [];
  for (let i = 0; i < rounds; i++) {
    await page.goto(url);
    all.push((await seen(page)).page);
  }
  return all;
}

async function bytesOf(session: CDPSession, load: () => Promise<unknown>): Promise<number> {
  let bytes = 0;
  const files = new Set<string>();
  session.on("Network.responseReceived", ({ requestId, type }) => {
    if (/^(Document|Script|Stylesheet|Image|Other)$/.test(type)) files.add(requestId);
  });
  session.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
    if (files.has(requestId)) bytes += encodedDataLength;
  });
  await session.send("Network.setCacheDisabled", { cacheDisabled: true });
  await load();
  return bytes;
}

async function memory(session: CDPSession): Promise<{ heap: number; nodes: number }> {
  await session.send("HeapProfiler.collectGarbage");
  await session.send("Performance.enable");
  const { metrics } = await session.send("Performance.getMetrics");
  const of = (name: string) => metrics.find((one) => one.name === name)?.value ?? Number.NaN;
  return { heap: of("JSHeapUsedSize") / 2 ** 20, nodes: of("Nodes") };
}

/** The milliseconds of each frame while the log scrolls from its end to its beginning and back. */
const frames = `new Promise((done) => {
  const box = document.querySelector(".lines");
  const times = [];
  let last = performance.now(), at = 0;
  const step = (time) => {
    times.push(time - last);
    last = time;
    at++;
    box.scrollTop += (at <= 60 ? -1 : 1) * 400;
    if (at < 120) requestAnimationFrame(step); else done(times.slice(1));
  };
  requestAnimationFrame(step);
})`;

async function manyDeployments(): Promise<Figure[]> {
  const service = await createService({ mode: "start", database, logLevel: "silent" });
  const { url } = await service.listen();
  const address = `${url}/dashboard/deployments`;
  const page = await opened(address, "main .rows tbody tr");
  await page.getByLabel("API key").fill(key);
  await page.keyboard.press("Enter");
  await seen(page);
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  const bytes = await bytesOf(session, () => page.reload({ waitUntil: "networkidle" }));
  const cold = await paints(page, session, address, true);
  const warm = await paints(page, session, address, false);
  const older: number[] = [];
  for (let i = 0; i < rounds; i++) {
    const last = (await page.locator("main .rows tbody tr a").first().textContent()) ?? "";
    const from = performance.now();
    await page.getByRole("button", { name: "Older" }).click();
    await page.locator("main .rows tbody tr a", { hasText: last }).waitFor({ state: "detached" });
    older.push(performance.now() - from);
  }
  const { heap, nodes } = await memory(session);
  const client = service.client({ apiKey: key });
  const changes = await changesOf(page, url, client);
  await page.context().close();
  await service.close();
  return [
    figure("the files of the first load, compressed, without fonts", "kB", [bytes / 1000], { floor: 60, aim: 40 }),
    figure("first paint with data, nothing in the cache", "ms", cold, { floor: 300, aim: 200 }),
    figure("first paint with data, files in the cache", "ms", warm, { floor: 300, aim: 150 }),
    figure("a change until it is on the screen", "ms", changes, { floor: 100, aim: 50 }),
    figure(`a page of ${Number(count).toLocaleString("en")} deployments, from the click`, "ms", older),
    figure("the heap of that page", "MiB", [heap]),
    figure("the nodes of that page", "nodes", [nodes]),
  ];
}

/** From the call that changes a deployment to the frame that shows the change: write, socket, read and paint. */
async function changesOf(
  page: Page,
  url: string,
  client: ReturnType<Awaited<ReturnType<typeof createService>>["client"]>,
) {
  const [project] = (await client.projects.list({})).data;
  const source = { type: "git", repo: "acme/web" } as const;
  const all: number[] = [];
  for (let i = 0; i < 3 * rounds; i++) {
    // A new environment each time, so that no deployment queues behind another.
    const made = await client.deployments.create({ project_id: project?.id ?? "", environment: `bench-${i}`, source });
    await page.goto(`${url}/dashboard/deployments/${made.id}`);
    await page.locator(".facts .status.queued").waitFor();
    await page.locator(".dot.on").waitFor();
    await page.waitForLoadState("networkidle");
    await page.evaluate(watch(".facts .status.cancelled"));
    const from = now();
    await client.deployments.cancel({ id: made.id });
    all.push((await seen(page)).machine - from);
  }
  return all;
}

async function longLog(): Promise<Figure[]> {
  const service = await createService({ clock: "manual", logLevel: "silent" });
  await service.scenarios.next("deployment", {
    logs: Array.from({ length: lines - 10 }, (_, i) => ({
      level: "info",
      message: `step ${i}: compiles lib/part-${i}.ts`,
    })),
  });
  const { url } = await service.listen();
  const { projects, deployments } = service.client();
  const { id: project_id } = await projects.create({ name: "bench", region: "eu-west-1" });
  const source = { type: "git", repo: "acme/web" } as const;
  const { id } = await deployments.create({ project_id, environment: "production", source });
  await service.clock.advance("1m");
  const address = `${url}/dashboard/deployments/${id}`;
  const page = await opened(address, ".line");
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  const first = await paints(page, session, address, false);
  const still = await page.evaluate<number[]>(frames.replace("* 400", "* 0"));
  const scrolled = await page.evaluate<number[]>(frames);
  const searched: number[] = [];
  for (let i = 0; i < rounds; i++) {
    const from = performance.now();
    await page.getByLabel("Search").fill(`part-${i}9`);
    await page.getByText(/^\d+ found$/).waitFor();
    searched.push(performance.now() - from);
    await page.getByLabel("Search").fill("");
  }
  const { heap, nodes } = await memory(session);
  await page.context().close();
  await service.close();
  return [
    figure(`${lines.toLocaleString("en")} lines of a log until the first is on the screen`, "ms", first),
    figure("a frame while they stand still, 95th percentile", "ms", [percentile(still, 0.95)]),
    figure("a frame while they scroll, 95th percentile", "ms", [percentile(scrolled, 0.95)]),
    figure("the longest frame", "ms", [Math.max(...scrolled)]),
    figure("a search in them", "ms", searched),
    figure("the heap with them", "MiB", [heap]),
    figure("the nodes with them", "nodes", [nodes]),
  ];
}

const figures = [...(await manyDeployments()), ...(await longLog())];
await browser.close();
process.stdout.write(JSON.stringify(figures));
