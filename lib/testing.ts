/** `svc-server/testing`: services for tests of node:test, Vitest and Jest. */
import type { Service } from "./composition/service-facade.ts";
import type { Options } from "./config/generated/options.ts";
import type { FakeTimers } from "./config/options/timers.ts";
import { describeSinkError } from "./emulator/instruments/sinks.ts";
import { createService, type WithKey } from "./service.ts";

export { verifySignature, verifyStandardWebhook } from "./features/deliveries/signature.ts";

type CleanUp = () => Promise<void>;

/** The context of a test: `t` of node:test or Vitest. Jest has none. */
export type Test = { after(cleanUp: CleanUp): unknown } | { onTestFinished(cleanUp: CleanUp): unknown } | undefined;

type Hook = (run: () => void | Promise<void>) => void;

/** The global hooks of a runner without a test context, such as Jest. */
const { beforeEach, afterEach, afterAll } = globalThis as { [name in "beforeEach" | "afterEach" | "afterAll"]?: Hook };
const cleanUps: { test: CleanUp[]; file: CleanUp[] } = { test: [], file: [] };
/** A service created outside of a test, for example in `beforeAll`, lasts for all tests of the file. */
let scope: keyof typeof cleanUps = "file";
const cleanUp = async (of: keyof typeof cleanUps) => {
  const errors: unknown[] = [];
  for (const run of cleanUps[of].splice(0).reverse()) await run().catch((error) => errors.push(error));
  if (errors.length > 0) throw errors[0];
};
beforeEach?.(() => {
  scope = "test";
});
afterEach?.(async () => {
  scope = "file";
  await cleanUp("test");
});
afterAll?.(() => cleanUp("file"));

/** How to register clean-up with this runner. Throws without context and hooks. Vitest's context is a function. */
function registrarOf(t: Test): (cleanUp: CleanUp) => unknown {
  if (t === undefined || t === null) {
    if (afterEach) return (cleanUp) => cleanUps[scope].push(cleanUp);
  } else if (Object(t) === t) {
    if ("after" in t) return (cleanUp) => t.after(cleanUp);
    if ("onTestFinished" in t) return (cleanUp) => t.onTestFinished(cleanUp);
  }
  const right = "in before or beforeAll, use createService, and close the service in after or afterAll";
  throw new TypeError(`pass the test's context: createTestService(t), or createTestService(t, options); ${right}`);
}

/** Creates a service that closes when the test ends. The test fails if a sink threw, or if jobs are still running. */
async function forTest<S extends Pick<Service, "busy" | "unsettled" | "sinkErrors" | "close">>(
  t: Test,
  make: () => Promise<S>,
): Promise<S> {
  // First, so that a wrong context is refused before a service is created.
  const register = registrarOf(t);
  const service = await make();
  register(async () => {
    const { busy, unsettled, sinkErrors } = service;
    await service.close();
    const [thrown] = sinkErrors;
    if (thrown) throw new Error(describeSinkError(thrown), { cause: thrown.error });
    if (busy > 0)
      throw new Error(
        `${busy} ${busy === 1 ? "job was" : "jobs were"} still running when the test ended: await each call that advances or settles the service`,
      );
    if (unsettled !== undefined)
      throw new Error(`${unsettled} had not settled when the service closed: await what waits for it, in the test`);
  });
  return service;
}

/**
 * Creates a service that closes when its test ends. By default it has a manual clock that starts at the beginning of
 * 2026 and seeded random numbers, so every run gives the same bytes. With `{ strict: true }` nothing leaves the
 * process, and the test fails if a scenario, fault or scripted answer was never used.
 */
export async function createTestService(t?: Test, options?: Options & WithKey): Promise<Service>;
export async function createTestService(t?: Test, options?: Options): Promise<Service<string | null>>;
export async function createTestService(t?: Test, options: Options = {}): Promise<Service<string | null>> {
  return forTest(t, () => createService({ clock: "manual@2026-01-01T00:00:00Z", random: "test", ...options }));
}

/**
 * Creates a fork that closes when its test ends: a suite creates one expensive service, and each test uses its own
 * copy. With `timers`, the fake timers of the runner move with the clock of the fork.
 */
export async function forkTestService<Key extends string | null>(
  t: Test,
  service: Service<Key>,
  options?: { muted?: boolean; timers?: FakeTimers },
): Promise<Service<Key>> {
  // The service can be undefined in JavaScript, or if `beforeEach` creates it too late.
  if (!service) throw new TypeError("pass the service to fork: forkTestService(t, service)");
  return forTest(t, () => service.fork(options));
}
