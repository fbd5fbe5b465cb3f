import type { Settings } from "../config/parse-options.ts";
import { createOutbound } from "../drivers/outbound/outbound.ts";
import type { KeysService } from "../features/keys/service.ts";
import type { SentMail } from "../features/mails/service.ts";
import type { Role } from "../kernel/roles.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import { createKey, organizationNamed, type WantedKey } from "./bootstrap.ts";
import { createFeatures } from "./features.ts";
import { openFoundation } from "./open-store.ts";
import { createRuntimes } from "./runtimes.ts";

export interface Admin {
  createKey(wanted: WantedKey): Promise<{ id: string; key: string }>;
  listKeys(organization?: string): Promise<readonly KeyEntry[]>;
  revokeKey(id: string, organization?: string): Promise<void>;
  mails(): Promise<readonly SentMail[]>;
  close(): Promise<void>;
}

type Key = Awaited<ReturnType<KeysService["all"]>>[number];
type KeyEntry = Key & { readonly user_name: string; readonly role: Role };

/** Opens an existing database. A running server checks rights at every request, so changes take effect at once. */
export async function openAdmin(settings: Settings): Promise<Admin> {
  const foundation = await openFoundation(settings, { exclusive: false });
  const { store, opened } = foundation;
  if (opened.warning !== undefined) foundation.log.warn(opened.warning);
  const outbound = createOutbound({ mode: "start" });
  // These commands run no jobs, so the settings name no runtime.
  const ports = { ...createRuntimes(settings, undefined), wake: () => {}, dirty: () => {}, origin: () => "", outbound };
  const features = createFeatures(foundation, settings, ports);
  const idOf = async (name: string | undefined) => (await organizationNamed(features, name)).id;
  /** The audit entry of a command's change: the operator has neither user nor key. */
  const command = (tx: Tx, organization_id: string, action: string, target: string) =>
    features.audit.record(tx, { organization_id, action, target, via: "command" });
  return {
    async createKey(wanted) {
      const { row, key } = await createKey(foundation, features, wanted, {
        after: (tx, organization_id, made) =>
          command(tx, organization_id, "keys.create", (made as { row: { id: string } }).row.id),
      });
      return { id: row.id, key };
    },
    async listKeys(organization) {
      const organization_id = await idOf(organization);
      const withUser = async (key: Key) => {
        const { name, role } = await features.users.get({ organization_id }, key.user_id);
        return { ...key, user_name: name, role };
      };
      return Promise.all((await features.keys.all(organization_id)).map(withUser));
    },
    async revokeKey(id, organization) {
      const organization_id = await idOf(organization);
      await store.transaction({ organization_id }, async (tx) => {
        await features.keys.remove(tx, organization_id, id);
        await command(tx, organization_id, "keys.revoke", id);
      });
    },
    mails: () => features.mails.all(),
    async close() {
      await store.close();
      opened.release();
    },
  };
}
