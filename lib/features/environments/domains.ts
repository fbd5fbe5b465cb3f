import type { TextRecords } from "../../drivers/outbound/text-records.ts";
import { type Clock, isoOf } from "../../kernel/clock.ts";
import { Problem, refuseBroken } from "../../kernel/errors.ts";
import { discard, done, type Outcome, snooze } from "../../kernel/job.ts";
import type { EnvironmentRange } from "../../kernel/page.ts";
import { milliseconds } from "../../kernel/text/duration.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { Row } from "../../store/tables.ts";
import type { Core } from "../core.ts";
import { domainsRepository } from "./domains-repository.ts";
import type { AppKey, Environment } from "./live-apps.ts";

interface Ports extends Pick<Core, "store" | "clock" | "queue"> {
  /** The parent domains of the hosts that the service itself assigns. */
  readonly domains: readonly string[];
  /** The hosts of the service itself, which no app may use. */
  readonly ownHosts: readonly string[];
  readonly textRecords: TextRecords;
  /** Whether a domain of this organization must be verified before it serves. */
  readonly verifies: (tx: Tx, organization_id: string) => Promise<boolean>;
  /** Called when the domains that serve an environment have changed. */
  readonly changed: (tx: Tx, key: AppKey) => Promise<void>;
}

const statusOf = ({ name, status, organization_id, reason }: Row<"app_domains">) => {
  return { name, status, record: recordOf(name), token: tokenOf(organization_id), reason };
};

/** Groups rows once: a filter for each environment would make a list quadratic. */
export function byEnvironment<R extends { readonly environment: string }>(
  rows: readonly R[],
): (name: string) => readonly R[] {
  const groups = new Map<string, R[]>();
  for (const row of rows) {
    const group = groups.get(row.environment);
    if (group) group.push(row);
    else groups.set(row.environment, [row]);
  }
  return (name) => groups.get(name) ?? [];
}

export type Domains = ReturnType<typeof createDomains>;

/** A domain to verify, and the number of look-ups so far. */
export type Check = AppKey & { readonly name: string; readonly tries: number };

/** A released host stays reserved for its organization for 7 days (fixtures/hosting/apps.md#hosts). */
const kept_ms = milliseconds("7d");
const [firstWait_ms, maxWait_ms] = [milliseconds("30s"), milliseconds("6h")];
/** Seven days of look-ups. Afterwards, the next PUT starts again. */
const maxTries = 38;
const waitAfter = (tries: number) => Math.min(firstWait_ms * 2 ** tries, maxWait_ms);

const recordOf = (name: string) => `_svc.${name}`;
/** The value of the record. It is public, and names the organization that may use the domain. */
const tokenOf = (organization_id: string) => `svc-domain=${organization_id}`;
const keptUntil = (clock: Clock) => isoOf(clock.now() + kept_ms);

/** The host names of environments. Several environments may wait for one name; it serves one of them. */
export function createDomains(ports: Ports) {
  const { store, clock, queue, domains, ownHosts, textRecords, verifies, changed } = ports;
  const rows = store.using(domainsRepository);

  /** The end of another organization's reservation of a host; undefined if there is none. */
  const keptFor = async (tx: Tx | undefined, { organization_id }: Pick<AppKey, "organization_id">, name: string) => {
    const before = await rows(tx).givenUp({ name, now: clock.iso() });
    return before && before.organization_id !== organization_id ? before.until : undefined;
  };

  /** The reason why an environment cannot have a host now; undefined if it can. */
  const obstacle = async (key: AppKey, name: string, tx?: Tx) => {
    if (await rows(tx).domainOfOther({ ...key, name }))
      return `the domain ${name} belongs to another environment; remove it there first`;
    const until = await keptFor(tx, key, name);
    if (until === undefined) return undefined;
    return `another organization gave up the domain ${name}, and keeps it reserved until ${until}`;
  };

  /** The rule that a domain breaks whoever has it: it is none of the service's own hosts. */
  const ruleOf = (name: string): string | undefined => {
    const domain = domains.find((one) => name === one || name.endsWith(`.${one}`));
    if (domain !== undefined) return `must not be ${domain} or below it: the service assigns those hosts itself`;
    return ownHosts.includes(name) ? "must not be the host of this service" : undefined;
  };

  const lookUp = (tx: Tx, check: Check, wait_ms = 0) => {
    const key = `domain ${check.project_id} ${check.environment} ${check.name}`;
    return queue.addUnique(tx, "apps.verify-domain", check, key, wait_ms);
  };

  /** Activates a verified domain. While another environment has it, the look-ups go on. */
  const activate = async (tx: Tx, { tries, name, ...key }: Check) => {
    const reason = await obstacle(key, name, tx);
    if (reason !== undefined && tries < maxTries)
      await lookUp(tx, { ...key, name, tries: tries + 1 }, waitAfter(tries));
    const status = reason === undefined ? "active" : "pending";
    await rows(tx).setDomainStatus({ ...key, name, status, reason: reason ?? null });
    await changed(tx, key);
  };

  return {
    keptFor,
    of: (key: Environment, tx?: Tx) => rows(tx).domainsOf(key),

    active: (name: string) => rows().activeDomain({ name }),

    async ofRange(range: EnvironmentRange, tx?: Tx) {
      const domainsIn = byEnvironment(await rows(tx).domainsOfRange(range));
      return (environment: string) => {
        const its = domainsIn(environment);
        return its.length > 0 ? { domains: its.map(({ name }) => name), domain_status: its.map(statusOf) } : {};
      };
    },

    /** Removes the domains of a deleted environment. They stay reserved for its organization for a while. */
    async removed(tx: Tx, key: Environment): Promise<void> {
      await rows(tx).giveUpOf({ ...key, until: keptUntil(clock) });
      await rows(tx).removeDomains(key);
    },

    async projectRemoved(tx: Tx, project_id: string): Promise<void> {
      await rows(tx).giveUpOfProject({ project_id, until: keptUntil(clock) });
      await rows(tx).removeDomainsOfProject({ project_id });
    },

    /** Replaces an environment's domains. New and pending domains are looked up at once. */
    async set(tx: Tx, key: AppKey, names: readonly string[]): Promise<void> {
      refuseBroken(names.map((name, i) => [`domains.${i}`, ruleOf(name)]));
      for (const name of names) {
        const reason = await obstacle(key, name, tx);
        if (reason !== undefined) throw new Problem("domain_taken", reason);
      }
      const { organization_id, project_id, environment } = key;
      const before = await rows(tx).domainsOf({ project_id, environment });
      const mustVerify = await verifies(tx, organization_id);
      for (const { name, status } of before) {
        if (names.includes(name)) continue;
        if (status === "active") await rows(tx).giveUp({ name, organization_id, until: keptUntil(clock) });
        await rows(tx).removeDomain({ project_id, environment, name });
      }
      for (const name of new Set(names)) {
        const present = before.find((one) => one.name === name);
        const status = present?.status === "active" || !mustVerify ? "active" : "pending";
        const row = { name, project_id, environment, organization_id, status, reason: null } as const;
        if (!present) await rows(tx).insertDomain(row);
        else if (present.status !== status) await rows(tx).setDomainStatus(row);
        if (status === "pending") await lookUp(tx, { ...key, name, tries: 0 });
      }
    },

    /** The job `apps.verify-domain`: looks for the organization's token in DNS, at growing intervals for seven days. */
    async verify(check: Check): Promise<Outcome> {
      const { tries, name, ...key } = check;
      const row = (await rows().domainsOf(key)).find((one) => one.name === name);
      if (row?.status !== "pending") return discard("the domain was removed, or is already active");
      const token = tokenOf(key.organization_id);
      const records = await textRecords(recordOf(name)).catch((error: Error) => error);
      const taken = await obstacle(key, name);
      const isProven = !(records instanceof Error) && records.includes(token);
      if (isProven && taken === undefined) return done((tx) => activate(tx, check), key);
      const reason =
        records instanceof Error
          ? `the TXT record ${recordOf(name)} could not be looked up: ${records.message}`
          : isProven
            ? (taken ?? "")
            : `no TXT record ${recordOf(name)} with the value ${token} was found`;
      const write = async (tx: Tx) => void (await rows(tx).setDomainReason({ ...key, name, reason }));
      if (tries >= maxTries) return done(write, key);
      return snooze(waitAfter(tries), write, key, { ...check, tries: tries + 1 });
    },

    async prune(): Promise<void> {
      await store.transaction("rows", (tx) => rows(tx).forgetGivenUp({ before: clock.iso() }));
    },
  };
}
