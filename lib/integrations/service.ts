import * as v from "valibot";
import type { Desk } from "../deliveries/desk.ts";
import type { Endpoints } from "../deliveries/endpoints.ts";
import type { Outbound } from "../drivers/outbound.ts";
import { check } from "../kernel/api.ts";
import { invalid, Problem } from "../kernel/errors.ts";
import type { Caller } from "../kernel/operation.ts";
import { mapPage, type PageQuery } from "../kernel/page.ts";
import type { Tx } from "../kernel/unit.ts";
import type { Store } from "../store/store.ts";
import type { Row } from "../store/tables.ts";
import { chat } from "./kinds/chat.ts";
import { codeHost } from "./kinds/code-host.ts";
import { custom } from "./kinds/custom.ts";
import { monitoring } from "./kinds/monitoring.ts";
import type { IntegrationType } from "./kinds/type.ts";
import type { integrationChanges, newIntegration, types } from "./schema.ts";

const family = "integration";
type Type = (typeof types)[number];

/** Every type there is. */
export const integrationTypes: Readonly<Record<Type, IntegrationType>> = {
  code_host: codeHost,
  chat,
  monitoring,
  custom,
};

interface Ports {
  readonly store: Store;
  readonly endpoints: Endpoints;
  readonly desk: Desk;
  readonly outbound: Pick<Outbound, "judge">;
}

export type IntegrationsService = ReturnType<typeof integrationsService>;

/** Integrations: a code host, a chat, a monitoring provider, a custom endpoint. SPEC "Integrations", CONTRACT section 6. */
export function integrationsService({ store, endpoints, desk, outbound }: Ports) {
  const item = ({ id, type, name, status, created_at }: Row<"endpoints">) => ({
    id,
    type: type as Type,
    name,
    status,
    created_at,
  });
  const view = (row: Row<"endpoints">) => {
    const { config, secrets } = endpoints.settingsOf(row);
    const { redacted, kind } = integrationTypes[row.type as Type];
    const events = kind && row.type !== "monitoring" ? { events: JSON.parse(row.events) as string[] } : {};
    return { ...item(row), config: { ...config, ...redacted(secrets), ...events } };
  };

  const refusePlan = (type: Type, plan: string) => {
    if (type === "monitoring" && plan === "starter") {
      throw new Problem("plan_required", "monitoring needs the plan pro or enterprise; this organization has starter");
    }
  };

  /** "A config that fails validation is 422 and nothing is stored." */
  const partsOf = (type: Type, config: unknown) => {
    const kind = integrationTypes[type];
    return kind.parts(check(v.object({ config: kind.schema }), { config }).config);
  };

  const refuseUrl = async (type: Type, parts: ReturnType<typeof partsOf>) => {
    const target = integrationTypes[type].url(parts);
    const problem = target && (await outbound.judge(target.url));
    if (problem) throw invalid(target.field, problem);
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
      refusePlan(type, caller.plan);
      const parts = partsOf(type, config);
      await refuseUrl(type, parts);
      return store.transaction(async (tx) => view(await insert(tx, caller.organization_id, type, parts)), caller);
    },

    async update(caller: Caller, id: string, { config, status }: v.InferOutput<typeof integrationChanges>) {
      const { type } = await endpoints.get(family, caller, id);
      const parts = config === undefined ? undefined : partsOf(type as Type, config);
      if (parts) await refuseUrl(type as Type, parts);
      return store.transaction(async (tx) => {
        const before = await endpoints.get(family, caller, id, tx);
        const { name, events } = parts ?? { name: before.name, events: JSON.parse(before.events) as string[] };
        const settings = parts ?? endpoints.settingsOf(before);
        return view(await endpoints.update(tx, before, { ...settings, name, events, status: status ?? before.status }));
      }, caller);
    },

    remove: (caller: Caller, id: string) => endpoints.remove(family, caller, id),
    deliveries: (caller: Caller, id: string, query: PageQuery) => desk.list(family, caller, id, query),
    test: (caller: Caller, id: string) => desk.test(family, caller, id),
    redeliver: (caller: Caller, id: string, dlv: string) => desk.redeliver(family, caller, id, dlv),
    recover: (caller: Caller, id: string, since: string) => desk.recover(family, caller, id, since),
  };
}
