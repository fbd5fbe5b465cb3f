/** Scrapes the metrics of a service in a process that has no free descriptor left, and prints the answer. */
import { closeSync, openSync } from "node:fs";
import { createService } from "../../lib/index.ts";

const service = await createService({ logLevel: "silent" });
const scrape = async () => {
  const response = await service.fetch("/metrics");
  return { status: response.status, text: await response.text() };
};
await scrape();
const open: number[] = [];
try {
  for (;;) open.push(openSync("/dev/null", "r"));
} catch {
  // No descriptor is left.
}
const answer = await scrape();
for (const fd of open) closeSync(fd);
process.stdout.write(`${JSON.stringify(answer)}\n`);
await service.close();
