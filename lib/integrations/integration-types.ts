import { chat } from "./kinds/chat.ts";
import { codeHost } from "./kinds/code-host.ts";
import { custom } from "./kinds/custom.ts";
import type { IntegrationType } from "./kinds/integration-type.ts";
import { monitoring } from "./kinds/monitoring.ts";
import type { types } from "./schema.ts";

export type Type = (typeof types)[number];

/** Every type there is. */
export const integrationTypes: Readonly<Record<Type, IntegrationType>> = {
  code_host: codeHost,
  chat,
  monitoring,
  custom,
};
