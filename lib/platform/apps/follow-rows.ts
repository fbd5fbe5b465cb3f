import { type AppKey, keyOf, nameOf } from "../../features/environments/live-apps.ts";
import { protectionOf } from "../../features/environments/protection.ts";
import { systemTimer } from "../../kernel/clock.ts";
import { isLogged } from "../../kernel/errors.ts";
import { reasonOf } from "../../kernel/log.ts";
import type { AppPorts } from "./ports.ts";
import { appsRepository } from "./repository.ts";
import type { Registry } from "./runtime-leases.ts";
import type { Live, Supervisor } from "./supervisor.ts";

const pause = "5s";

interface Ports extends Pick<AppPorts, "store" | "log" | "feed"> {
  readonly registry: Registry;
  readonly supervisor: Supervisor | undefined;
  /** The hosts that the service assigned to an environment, without its custom domains. */
  readonly ownHostsOf: (slug: string) => readonly string[];
  readonly onTaken: () => Promise<unknown>;
}

const noneUp = "no server with a runtime is up, so deployments wait";

/**
 * Renews the lease of this server's runtime, takes over from runtimes that are gone, and makes the local apps follow
 * the rows: every five seconds, and when another server asks for it.
 */
export function createRowFollower({ store, log, feed, registry, supervisor, ownHostsOf, onTaken }: Ports) {
  const rows = store.using(appsRepository);
  let hasBegun = false;
  let hasEnded = false;
  let cancel = () => {};
  let looking: Promise<void> | undefined;
  let again = false;
  let isWaiting = false;
  let onBack: () => Promise<unknown> = async () => {};
  /**
   * Live releases that did not run here at the last look. They start only if they are missing again, because a
   * deployment that has just ended starts its release itself.
   */
  let missed: ReadonlySet<string> = new Set();

  /** Reads the rows again if an app changed during the reads: old rows would bring an earlier release back. */
  const readRows = async (runtime_id: string, run: Supervisor) => {
    for (;;) {
      const changes = run.changes();
      const live = new Map((await rows().liveOn({ runtime_id })).map((one) => [nameOf(one), one]));
      const domains = await rows().domainsOn({ runtime_id });
      const elsewhere: AppKey[] = [];
      for (const key of run.running())
        if (!live.has(nameOf(key)) && (await rows().find(key))?.runtime_id !== runtime_id) elsewhere.push(key);
      if (run.changes() === changes) return { live, domains, elsewhere };
    }
  };

  const reconcile = async (runtime_id: string, run: Supervisor, hasTaken: boolean) => {
    const { live, domains, elsewhere } = await readRows(runtime_id, run);
    // Not awaited: stopping may take longer than this runtime's lease.
    for (const key of elsewhere)
      run.stop(key).catch((error) => log.error("a release could not be stopped", { reason: reasonOf(error) }));
    const missing = new Set<string>();
    for (const [name, { slug, deployment_id, protect, ...app }] of live) {
      const key = keyOf(app);
      const custom = domains.filter((one) => nameOf(one) === name).map((one) => one.name);
      const access = { hosts: [...ownHostsOf(slug), ...custom], protection: protectionOf(protect) };
      const wanted: Live = { deployment_id: deployment_id ?? "", slug, ...access };
      const current = run.liveIn(key);
      if (current?.deployment_id === wanted.deployment_id) run.setAccess(key, access);
      else if (missed.has(name) && current) run.promote(key, wanted);
      else if (missed.has(name) || (hasTaken && !current)) void run.resume(key, wanted);
      else missing.add(name);
    }
    missed = missing;
  };

  const report = () => {
    const runtimes = registry.known();
    const waits = runtimes.length > 0 && !runtimes.some(registry.isUp);
    if (waits !== isWaiting)
      log.warn(waits ? noneUp : "a server with a runtime is up again", {
        servers: runtimes.map(({ host }) => host).join(", "),
      });
    isWaiting = waits;
  };

  const lookOnce = async () => {
    const wasDown = await registry.renew();
    await registry.look();
    if (registry.own !== undefined && supervisor) {
      const taken = await registry.takeOver();
      if (taken.length > 0) {
        log.warn("apps of other servers run here now", { servers: taken.join(", ") });
        await registry.look();
        await onTaken();
      }
      await reconcile(registry.own, supervisor, taken.length > 0);
    }
    report();
    if (wasDown) await onBack();
  };

  const look = (): Promise<void> => {
    hasBegun = true;
    if (looking !== undefined) {
      again = true;
      return looking;
    }
    cancel();
    looking = lookOnce()
      .catch((error) => {
        if (!isLogged(error) && !hasEnded)
          log.error("the runtimes could not be looked up", { reason: reasonOf(error) });
      })
      .finally(() => {
        looking = undefined;
        if (hasEnded) return;
        cancel = systemTimer(again ? 0 : pause, () => void look());
        again = false;
      });
    return looking;
  };

  feed.onWake("runtimes", () => {
    // This server must get no work until its start is complete.
    if (hasBegun && !hasEnded) void look();
  });

  return {
    look,
    /** Sets a callback for when the other servers saw this runtime as down: deployments may have waited for it. */
    onBack(resume: () => Promise<unknown>): void {
      onBack = resume;
    },
    obstacle: () => (isWaiting ? noneUp : undefined),
    async end(): Promise<void> {
      hasEnded = true;
      cancel();
      await looking;
      await registry.unregister().catch(() => {});
    },
  };
}
