/** `svc-server/testing`: services for tests of node:test, Vitest and Jest. */
import type { Service } from "./app/service-facade.ts";
import type { Options } from "./config/parse-options.ts";
import { createService } from "./service.ts";

export { verifySignature, verifyStandardWebhook } from "./endpoints/signature.ts";

type CleanUp = () => Promise<void>;

/** The context of a test: `t` of node:test, or that of Vitest; Jest has none. */
export type Test = { after(cleanUp: CleanUp): unknown } | { onTestFinished(cleanUp: CleanUp): unknown } | undefined;

/** The clean-up of the current test, for runners without a context, such as Jest. */
const pending: CleanUp[] = [];
const { afterEach } = globalThis as { afterEach?: (run: CleanUp) => void };
afterEach?.(async () => {
  for (const cleanUp of pending.splice(0).reverse()) await cleanUp();
});

/** Finds how to register clean-up with this runner. Throws for anything but a context; Vitest's is a function. */
function registrarOf(t: Test): (cleanUp: CleanUp) => unknown {
  if (t === undefined || t === null) {
    if (afterEach) return (cleanUp) => pending.push(cleanUp);
  } else if (Object(t) === t) {
    if ("after" in t) return (cleanUp) => t.after(cleanUp);
    if ("onTestFinished" in t) return (cleanUp) => t.onTestFinished(cleanUp);
  }
  throw new TypeError("hand in the test's context: createTestService(t), or createTestService(t, options)");
}

/** Makes a service that closes when the test ends. The test fails if jobs still run then. */
async function forTest(t: Test, make: () => Promise<Service>): Promise<Service> {
  // First, so that a wrong context is refused before a service is made.
  const register = registrarOf(t);
  const service = await make();
  register(async () => {
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
 * A service that closes when its test ends. By default it has a manual clock that starts at the beginning of 2026, and
 * seeded random numbers, so every run gives the same bytes.
 */
export async function createTestService(t?: Test, options: Options = {}): Promise<Service> {
  return forTest(t, () => createService({ clock: "manual@2026-01-01T00:00:00Z", random: "test", ...options }));
}

/** A fork that closes when its test ends: a suite makes one expensive service, and each test takes its own copy. */
export async function forkTestService(t: Test, service: Service): Promise<Service> {
  // It can be undefined in JavaScript, and if a `beforeEach` makes it too late.
  if (!service) throw new TypeError("hand in the service to fork: forkTestService(t, service)");
  return forTest(t, () => service.fork());
}
