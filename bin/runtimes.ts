import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { preparedDisks } from "../lib/composition/real-driver.ts";
import { parseOptions, runsForReal, type Settings } from "../lib/config/parse-options.ts";
import type { Protection } from "../lib/drivers/deployment/protections.ts";
import { reachOf } from "../lib/platform/box/network.ts";
import { connectEngine } from "../lib/platform/containers/connect.ts";
import { describeLanguages } from "../lib/platform/process/languages.ts";
import { probeMachine } from "../lib/platform/process/probe.ts";

const layerTexts = {
  overlay: "apps write below their folders in an overlay",
  copy: "apps write below their folders in a copy, which takes memory and time at each start, because the kernel has no overlay for it (modprobe overlay; Linux 5.11 unless root)",
} as const;

/** Tests each runtime. Returns what it runs on, or throws an error that says how to install it. */
const runtimes = {
  async process(settings: Settings | undefined, found: (protections: readonly Protection[]) => void) {
    const folder = mkdtempSync(join(tmpdir(), "svc-server-doctor-"));
    try {
      const { deployments } = settings ?? parseOptions({});
      const { isolation, users, reach } = deployments;
      const machine = await probeMachine(folder, {
        isolation,
        users,
        reach: reachOf(reach, settings?.outbound.allow ?? []),
        disks: preparedDisks(deployments),
        scratch_bytes: deployments.scratch,
      });
      const app = join(folder, "app");
      mkdirSync(app);
      const languages = await describeLanguages(machine, app);
      await machine.close();
      found(machine.protections);
      const layers = machine.layers && `; ${layerTexts[machine.layers]} (deployments.scratch)`;
      return `with the isolation ${isolation}${layers ?? ""}; ${languages}`;
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
  engine: async () => `with ${(await connectEngine()).name}`,
} as const;

/** Only a configured runtime must work. `found` receives the protections of `process`. */
export async function tryRuntimes(
  settings: Settings | undefined,
  found: (protections: readonly Protection[]) => void,
): Promise<string> {
  const chosen = settings && runsForReal(settings) ? settings.deployments.runtime : [];
  const says = chosen.length > 0 ? [] : ["deployments are simulated"];
  for (const [name, look] of Object.entries(runtimes)) {
    const isChosen = chosen.some((one) => one === name);
    try {
      const detail = await look(settings, found);
      says.push(`${name} ${isChosen ? "is chosen and works here" : `works here (--runtime ${name})`}, ${detail}`);
    } catch (error) {
      if (isChosen) throw error;
      says.push(`${name} does not work here: ${(error as Error).message}`);
    }
  }
  return says.join(". ");
}
