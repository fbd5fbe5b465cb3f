import * as v from "valibot";
import type { Outbound } from "../../drivers/outbound/outbound.ts";
import { invalid, Problem } from "../../kernel/errors.ts";
import type { Caller } from "../../kernel/operation.ts";
import { mapLong, type PageQuery } from "../../kernel/page.ts";
import { isObject } from "../../kernel/text/json.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import { check, type Rules } from "../../kernel/validation.ts";
import type { Store } from "../../store/store.ts";
import type { Row } from "../../store/tables.ts";
import { keptHeaders } from "../deliveries/custom-headers.ts";
import type { Endpoints } from "../deliveries/service.ts";
import type { Plan } from "../organizations/schema.ts";
import type { ProjectsService } from "../projects/service.ts";
import { integrationTypes, type Type } from "./integration-types.ts";
import type { ParsedConfig } from "./kinds/integration-type.ts";
import type { PreviewsService } from "./previews.ts";
import type { integrationChanges, newIntegration } from "./schema.ts";

type Endpoint = Row<"endpoints">;

const family = "integration";
const optionalHeaders = v.optional(v.record(v.string(), v.string()));
const monitored = v.object({ type: v.literal("monitoring") });

interface Ports {
  readonly store: Store;
  readonly endpoints: Endpoints;
  readonly outbound: Pick<Outbound, "checkUrl">;
  readonly projects: Pick<ProjectsService, "exists">;
  /** The organization's plan. It may change while a request arrives, so it is read again in the transaction. */
  readonly planOf: (organization_id: string, tx?: Tx) => Promise<Plan>;
  readonly rules: Rules;
  readonly previews: Pick<PreviewsService, "integrationRemoved">;
}

export type IntegrationsService = ReturnType<typeof integrationsService>;

/** Integrations: a code host, a chat, a monitoring provider, a custom endpoint (schema/webhooks.md#integrations). */
export function integrationsService({ store, endpoints, outbound, projects, planOf, rules, previews }: Ports) {
  const typeOf = ({ type }: Endpoint) => type as Type;
  const eventsOf = (row: Endpoint) =>
    "events" in integrationTypes[typeOf(row)].schema.entries ? { events: JSON.parse(row.events) as string[] } : {};
  const item = (row: Endpoint) => ({ ...row, type: typeOf(row) });
  /** The field `reason`: why an integration cannot be active. Empty if nothing is known to prevent it. */
  const reasonOf = async (row: Endpoint, tx?: Tx) => {
    const { project_id } = row.type === "code_host" && row.status === "inactive" ? endpoints.configOf(row) : {};
    if (project_id === undefined || (await projects.exists(tx, row.organization_id, String(project_id)))) return {};
    return { reason: `the project ${project_id} was deleted; set config.project_id to another one, or to null` };
  };
  const view = async (row: Endpoint, tx?: Tx) => {
    const { config, secrets } = endpoints.settingsOf(row);
    return {
      ...item(row),
      ...(await reasonOf(row, tx)),
      config: { ...config, ...integrationTypes[typeOf(row)].redacted(secrets), ...eventsOf(row) },
    };
  };

  const includes = (plan: Plan, type: Endpoint["type"]) => type !== "monitoring" || plan !== "starter";
  const refusePlan = (type: Type, plan: Plan) => {
    if (!includes(plan, type)) {
      throw new Problem("plan_required", "monitoring needs the plan pro or enterprise; this organization has starter");
    }
  };

  /** "A config that fails validation is 422 and nothing is stored." */
  const parse = (type: Type, config: unknown = {}): ParsedConfig => {
    const schema = v.object({ config: integrationTypes[type].schema });
    return integrationTypes[type].parse(check(schema, { config }, rules).config);
  };

  /** Fields that are left out keep their values, and so do secrets sent back redacted; null removes a field. */
  const merge = (before: Endpoint, config: unknown): unknown => {
    if (!isObject(config)) return config;
    const { config: stored, secrets } = endpoints.settingsOf(before);
    const merged: Record<string, unknown> = { ...stored, ...eventsOf(before), ...config };
    // The stored key must not go to a new site: a caller, who cannot read the key, could name a site to receive it.
    const moves = before.type === "monitoring" && merged.site !== stored.site;
    const { headers: _, ...shown } = integrationTypes[typeOf(before)].redacted(secrets);
    for (const [key, redacted] of Object.entries(shown)) {
      if (merged[key] === redacted || merged[key] === undefined) merged[key] = moves ? undefined : secrets[key];
    }
    const headers = v.safeParse(optionalHeaders, merged.headers, { abortEarly: true });
    if (typeOf(before) === "custom" && headers.success) {
      const place = { field: "config.headers", from: String(stored.url), to: String(merged.url) };
      merged.headers = keptHeaders(headers.output, secrets, place);
    }
    return merged;
  };

  const refuseUrl = async (type: Type, parsed: ParsedConfig) => {
    const target = integrationTypes[type].target(parsed);
    const problem = target && (await outbound.checkUrl(target.url));
    if (problem) throw invalid(target.field, problem);
  };

  /** Refuses an unknown project: its pushes would be accepted but never deployed. */
  const refuseProject = async (tx: Tx, { organization_id }: Caller, { config }: Pick<ParsedConfig, "config">) => {
    const { project_id } = config;
    if (project_id === undefined || (await projects.exists(tx, organization_id, String(project_id)))) return;
    throw invalid("config.project_id", "must be a project of this organization, or null for the default project");
  };

  const insert = (tx: Tx, organization_id: string, type: Type, parsed: ParsedConfig, status?: Endpoint["status"]) =>
    endpoints.insert(tx, family, organization_id, type, { ...parsed, status });

  return {
    parse,
    insert,
    list: async (caller: Caller, query: PageQuery) =>
      mapLong(endpoints.list(family, caller, query), (rows) =>
        Promise.all(rows.map(async (row) => ({ ...item(row), ...(await reasonOf(row)) }))),
      ),
    get: async (caller: Caller, id: string) => view(await endpoints.get(family, caller, id)),

    /** Checks the plan as soon as the type is known. */
    async requirePlan(caller: Caller, body: unknown) {
      if (v.is(monitored, body)) refusePlan(body.type, await planOf(caller.organization_id));
    },

    async create(caller: Caller, { type, config }: v.InferOutput<typeof newIntegration>) {
      const parsed = parse(type, config);
      await refuseUrl(type, parsed);
      return store.transaction(caller, async (tx) => {
        refusePlan(type, await planOf(caller.organization_id, tx));
        await refuseProject(tx, caller, parsed);
        return view(await insert(tx, caller.organization_id, type, parsed), tx);
      });
    },

    async update(caller: Caller, id: string, { config, status }: v.InferOutput<typeof integrationChanges>) {
      const before = await endpoints.get(family, caller, id);
      const type = typeOf(before);
      const needsPlan = config !== undefined || status === "active";
      if (needsPlan) refusePlan(type, await planOf(caller.organization_id));
      const parseFor = (row: Endpoint) => (config === undefined ? undefined : parse(type, merge(row, config)));
      const checked = parseFor(before);
      if (checked) await refuseUrl(type, checked);
      return store.transaction(caller, async (tx) => {
        const before = await endpoints.get(family, caller, id, tx);
        // Merged again: a concurrent change may have set fields that this change leaves out.
        const parsed = parseFor(before);
        if (needsPlan) refusePlan(type, await planOf(caller.organization_id, tx));
        const settings = endpoints.settingsOf(before);
        // A deleted project must not block other changes.
        const after = { ...settings, ...parsed };
        if (status === "active" || after.config.project_id !== settings.config.project_id)
          await refuseProject(tx, caller, after);
        const unchanged = { ...settings, name: before.name, events: JSON.parse(before.events) as string[] };
        return view(await endpoints.update(tx, before, { ...(parsed ?? unchanged), status }), tx);
      });
    },

    /** "Monitoring requires Pro or Enterprise": turns off the integrations that a new plan does not include. */
    async planned(tx: Tx, organization_id: string, plan: Plan) {
      for (const row of await endpoints.active(tx, family, organization_id)) {
        if (!includes(plan, row.type)) await endpoints.deactivate(tx, row);
      }
    },

    remove: (caller: Caller, id: string) => endpoints.remove(family, caller, id, previews.integrationRemoved),
  };
}
