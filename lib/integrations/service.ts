import * as v from "valibot";
import type { Outbound } from "../drivers/outbound/outbound.ts";
import type { Endpoints } from "../endpoints/service.ts";
import { invalid, Problem } from "../kernel/errors.ts";
import type { Caller } from "../kernel/operation.ts";
import { mapPage, type PageQuery } from "../kernel/page.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import { check } from "../kernel/validation.ts";
import type { ProjectsService } from "../projects/service.ts";
import type { Store } from "../store/store.ts";
import type { Row } from "../store/tables.ts";
import { integrationTypes, type Type } from "./integration-types.ts";
import type { integrationChanges, newIntegration } from "./schema.ts";

const family = "integration";

interface Ports {
  readonly store: Store;
  readonly endpoints: Endpoints;
  readonly outbound: Pick<Outbound, "judge">;
  readonly projects: Pick<ProjectsService, "exists">;
  /** The organization's plan as it is in the transaction: it may have been lowered while a request arrived. */
  readonly planOf: (organization_id: string, tx?: Tx) => Promise<string>;
}

export type IntegrationsService = ReturnType<typeof integrationsService>;

/** Integrations: a code host, a chat, a monitoring provider, a custom endpoint. SPEC "Integrations", CONTRACT section 6. */
export function integrationsService({ store, endpoints, outbound, projects, planOf }: Ports) {
  const item = ({ id, type, name, status, created_at }: Row<"endpoints">) => ({
    id,
    type: type as Type,
    name,
    status,
    created_at,
  });
  const eventsOf = (row: Row<"endpoints">) =>
    integrationTypes[row.type as Type].kind && row.type !== "monitoring"
      ? { events: JSON.parse(row.events) as string[] }
      : {};
  const view = (row: Row<"endpoints">) => {
    const { config, secrets } = endpoints.settingsOf(row);
    return {
      ...item(row),
      config: { ...config, ...integrationTypes[row.type as Type].redacted(secrets), ...eventsOf(row) },
    };
  };

  const includes = (plan: string, type: Row<"endpoints">["type"]) => type !== "monitoring" || plan !== "starter";
  const refusePlan = (type: Type, plan: string) => {
    if (!includes(plan, type)) {
      throw new Problem("plan_required", "monitoring needs the plan pro or enterprise; this organization has starter");
    }
  };

  /** "A config that fails validation is 422 and nothing is stored." */
  const partsOf = (type: Type, config: unknown = {}) => {
    const kind = integrationTypes[type];
    return kind.parts(check(v.object({ config: kind.schema }), { config }).config);
  };

  /** What a caller leaves out stays as it was, and so does a secret that is sent back redacted; null takes one away. */
  const changed = (before: Row<"endpoints">, config: unknown): unknown => {
    if (typeof config !== "object" || config === null || Array.isArray(config)) return config;
    const { config: known, secrets } = endpoints.settingsOf(before);
    const whole: Record<string, unknown> = { ...known, ...eventsOf(before), ...config };
    // A key that nobody can read must not be sent elsewhere by somebody who only moves the address.
    const moves = before.type === "monitoring" && whole.site !== known.site;
    for (const [key, shown] of Object.entries(integrationTypes[before.type as Type].redacted(secrets))) {
      if (whole[key] === shown || whole[key] === undefined) whole[key] = moves ? undefined : secrets[key];
    }
    return whole;
  };

  const refuseUrl = async (type: Type, parts: ReturnType<typeof partsOf>) => {
    const target = integrationTypes[type].url(parts);
    const problem = target && (await outbound.judge(target.url));
    if (problem) throw invalid(target.field, problem);
  };

  /** One that is not there would be accepted and never deploy. */
  const refuseProject = async (tx: Tx, { organization_id }: Caller, { config }: ReturnType<typeof partsOf>) => {
    const { project_id } = config;
    if (project_id === undefined || (await projects.exists(tx, organization_id, String(project_id)))) return;
    throw invalid("config.project_id", "must be a project of this organization, or null for the usual one");
  };

  const insert = (
    tx: Tx,
    organization_id: string,
    type: Type,
    parts: ReturnType<typeof partsOf>,
    status?: Row<"endpoints">["status"],
  ) => endpoints.insert(tx, family, organization_id, type, { ...parts, status });

  return {
    partsOf,
    insert,
    list: async (caller: Caller, query: PageQuery) => mapPage(await endpoints.list(family, caller, query), item),
    get: async (caller: Caller, id: string) => view(await endpoints.get(family, caller, id)),

    async create(caller: Caller, { type, config }: v.InferOutput<typeof newIntegration>) {
      refusePlan(type, await planOf(caller.organization_id));
      const parts = partsOf(type, config);
      await refuseUrl(type, parts);
      return store.transaction(async (tx) => {
        refusePlan(type, await planOf(caller.organization_id, tx));
        await refuseProject(tx, caller, parts);
        return view(await insert(tx, caller.organization_id, type, parts));
      }, caller);
    },

    async update(caller: Caller, id: string, { config, status }: v.InferOutput<typeof integrationChanges>) {
      const before = await endpoints.get(family, caller, id);
      const type = before.type as Type;
      const needsPlan = config !== undefined || status === "active";
      if (needsPlan) refusePlan(type, await planOf(caller.organization_id));
      const partsFrom = (row: Row<"endpoints">) =>
        config === undefined ? undefined : partsOf(type, changed(row, config));
      const judged = partsFrom(before);
      if (judged) await refuseUrl(type, judged);
      return store.transaction(async (tx) => {
        const before = await endpoints.get(family, caller, id, tx);
        // Anew: what is left out stays as it is now, which another change may have set meanwhile.
        const parts = partsFrom(before);
        if (needsPlan) refusePlan(type, await planOf(caller.organization_id, tx));
        // One that was deleted since must not stand in the way of other changes.
        const { project_id } = endpoints.settingsOf(before).config;
        if (parts && parts.config.project_id !== project_id) await refuseProject(tx, caller, parts);
        const { name, events } = parts ?? { name: before.name, events: JSON.parse(before.events) as string[] };
        const settings = parts ?? endpoints.settingsOf(before);
        return view(await endpoints.update(tx, before, { ...settings, name, events, status }));
      }, caller);
    },

    /** "Monitoring requires Pro or Enterprise": what a new plan does not include is turned off. */
    async planned(tx: Tx, organization_id: string, plan: string) {
      for (const row of await endpoints.active(tx, family, organization_id)) {
        if (!includes(plan, row.type)) await endpoints.deactivate(tx, row);
      }
    },

    remove: (caller: Caller, id: string) => endpoints.remove(family, caller, id),
  };
}
