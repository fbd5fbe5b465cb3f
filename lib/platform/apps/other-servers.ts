import { kindAt, type RuntimeJobs } from "../../jobs/runtime-jobs.ts";
import { systemTimer } from "../../kernel/clock.ts";
import { Problem } from "../../kernel/errors.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { Row } from "../../store/tables.ts";
import type { OtherServer } from "./placement.ts";
import type { AppPorts } from "./ports.ts";
import { appsRepository } from "./repository.ts";
import type { Registry } from "./runtime-leases.ts";

interface Ports extends Pick<AppPorts, "store" | "ids" | "feed" | "queue" | "custom"> {
  readonly jobs: RuntimeJobs;
  readonly registry: Registry;
}

/** How often a waiting request checks whether its work is done. Usually a message arrives first. */
const pause = "1s";

const isDown = () =>
  new Problem(
    "unavailable",
    "the server that runs this environment is down; it starts the live release when it is back",
    {
      headers: { "retry-after": "5" },
    },
  );

/** What this server asks of others. */
export function createOtherServers({ store, ids, feed, queue, jobs, registry, custom }: Ports) {
  const rows = store.using(appsRepository);
  const restarts = new Map<string, () => void>();
  feed.onWake("restarted", (restart_id) => restarts.get(restart_id)?.());

  /** Throws 503 while the server of a runtime is down. */
  const requireUp = (runtime_id: string | null) => {
    const found = registry.find(runtime_id);
    if (!found || !registry.isUp(found)) throw isDown();
  };

  const restarted = (restart_id: string) =>
    new Promise<void>((resolve) => {
      const cancel = systemTimer(pause, resolve, { hold: true });
      restarts.set(restart_id, () => {
        cancel();
        resolve();
      });
    });

  return {
    requireUp,

    server: (runtime_id: string): OtherServer => ({
      clear: (tx, leftovers) => queue.add(tx, kindAt("apps.clear", runtime_id), leftovers),

      async restart({ organization_id, project_id, environment }) {
        const restart_id = ids.next("job");
        const order = { organization_id, project_id, environment, restart_id };
        const kind = kindAt("apps.restart", runtime_id);
        await store.transaction({ organization_id }, (tx) => queue.addUnique(tx, kind, order, restart_id));
        try {
          while (await jobs.isWaiting(`job_${restart_id}`)) {
            requireUp(runtime_id);
            await restarted(restart_id);
          }
        } finally {
          restarts.delete(restart_id);
        }
      },
    }),

    tellRestarted: (tx: Tx, restart_id: string) => feed.wake(tx, "restarted", restart_id),

    /** The app at a host of any server; undefined for unknown hosts. */
    async atHost(host: string): Promise<Row<"apps"> | undefined> {
      const domains = registry.known().map(({ apps_url }) => `.${new URL(apps_url).hostname}`);
      const domain = domains.find((one) => host.endsWith(one));
      const own = domain === undefined ? await custom.active(host) : undefined;
      return own ? rows().find(own) : rows().ofSlug({ slug: host.slice(0, -(domain?.length ?? 0)) });
    },
  };
}
