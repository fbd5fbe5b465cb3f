/** `svc-server/testing`: services for tests of node:test, Vitest and Jest. */
import type { Service } from "./app/service-facade.ts";
import type { Options } from "./config/parse-options.ts";
import { createService } from "./service.ts";

export { verifySignature, verifyStandardWebhook } from "./endpoints/signature.ts";

type End = () => Promise<void>;

/** What a test is handed by its runner: `t` of node:test, the context of Vitest; Jest has none. */
export type Test = { after(end: End): unknown } | { onTestFinished(end: End): unknown } | undefined;

/** Without a context, as in Jest: what is to end with the present test. */
const untold: End[] = [];
const { afterEach } = globalThis as { afterEach?: (run: End) => void };
afterEach?.(async () => {
  for (const end of untold.splice(0).reverse()) await end();
});

/** How this runner is told what is to end with the test. Throws for what is no context, before anything is made: Vitest's is a function. */
function endingOf(t: Test): (end: End) => unknown {
  if (t === undefined || t === null) {
    if (afterEach) return (end) => untold.push(end);
  } else if (Object(t) === t) {
    if ("after" in t) return (end) => t.after(end);
    if ("onTestFinished" in t) return (end) => t.onTestFinished(end);
  }
  throw new TypeError("hand in the test's context: createTestService(t), or createTestService(t, options)");
}

/** Closes the service with the test, and fails the test where something was left running. */
async function endWith(t: Test, making: () => Promise<Service>): Promise<Service> {
  const atTheEnd = endingOf(t);
  const service = await making();
  atTheEnd(async () => {
    const { busy } = service;
    await service.close();
    if (busy > 0)
      throw new Error(
        `${busy} jobs were still running when the test ended: await what advances or settles the service`,
      );
  });
  return service;
}

/**
 * A service that ends with its test. Unless the options say otherwise its clock is a manual one that stands at the
 * beginning of 2026, and its chance is seeded: so every run is the same to the byte.
 */
export async function createTestService(t?: Test, options: Options = {}): Promise<Service> {
  return endWith(t, () => createService({ clock: "manual@2026-01-01T00:00:00Z", random: "test", ...options }));
}

/** A fork that ends with its test: a suite builds one expensive service, and each test has its own copy. */
export async function forkTestService(t: Test, service: Service): Promise<Service> {
  // It can be missing for JavaScript, and where a `beforeEach` made it too late.
  if (!service) throw new TypeError("hand in the service to fork: forkTestService(t, service)");
  return endWith(t, () => service.fork());
}
