import type { Clock } from "../../kernel/clock.ts";
import { Problem } from "../../kernel/errors.ts";
import { discard } from "../../kernel/job.ts";
import { parseLastEventId, resumeLog, Stream } from "../../kernel/node/stream.ts";
import { paginate, paginateLong } from "../../kernel/page.ts";
import type { Store } from "../../store/store.ts";
import type { ChangeFeed } from "../events/change-feed.ts";
import type { Domains } from "./domains.ts";
import { domainsRepository } from "./domains-repository.ts";
import type { LiveApps } from "./live-apps.ts";

/** Whether a runtime has ever run an environment of this database. Its rows then need the real `LiveApps`. */
export const hasApps = async (store: Store): Promise<boolean> =>
  (await store.using(domainsRepository)().anyApp({})) !== undefined;

const nothing = { rows: async () => [], total: async () => 0 };
const simulated = async () => discard("deployments are simulated here");

/** Deployments are simulated: environments have domains, and nothing runs. */
export const noLiveApps = ({
  domains,
  feed,
  clock,
}: {
  domains: Domains;
  feed: ChangeFeed;
  clock: Clock;
}): LiveApps => ({
  runtimeName: () => undefined,
  runtimeId: undefined,
  runtimes: () => [],
  async ensure() {},
  async accessChanged(tx, { organization_id, project_id }) {
    feed.publish(tx, { kind: "record", organization_id, id: project_id });
  },
  ofRange: domains.ofRange,
  async logs({ exists, ...filters }, { follow, ...query }, { resume }) {
    if (!follow) return paginateLong(query, "environment logs", filters, nothing, { key: "seq", keepsLast: true });
    const { told } = resumeLog(parseLastEventId(resume), 0, clock.iso());
    async function* entries() {
      if (told) yield told;
      // No app writes to this log.
      return { status: (await exists()) ? "simulated" : "deleted" };
    }
    return new Stream(entries());
  },
  runs: (key, query) => paginate(query, "runs", key, nothing),
  async requireLive() {
    throw new Problem(
      "no_previous_version",
      "deployments are simulated here, so there is nothing to restart; choose a runtime with --runtime",
    );
  },
  async restart() {},
  async removed(tx, key) {
    await domains.removed(tx, key);
    return false;
  },
  async projectRemoved() {},
  async removeBatch(tx, project_id) {
    await domains.projectRemoved(tx, project_id);
    return true;
  },
  hasHost: async (host) => (await domains.active(host)) !== undefined,
  isLive: async () => false,
  assign: async () => null,
  isHeld: async () => false,
  obstacle: () => undefined,
  onBack() {},
  isGone: async () => false,
  async succeeded() {},
  async ended() {},
  urlOf: () => null,
  urlsOf: undefined,
  visitedAt: async () => null,
  runRestart: simulated,
  runSchedule: simulated,
  runClear: simulated,
  async begin() {},
  async open() {},
  async resume() {},
  async close() {},
  async unregister() {},
});
