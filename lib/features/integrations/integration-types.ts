import { chat } from "./kinds/chat.ts";
import { codeHost } from "./kinds/code-host.ts";
import { custom } from "./kinds/custom.ts";
import type { IntegrationType } from "./kinds/integration-type.ts";
import { monitoring } from "./kinds/monitoring.ts";

export const integrationTypes = {
  code_host: codeHost,
  chat,
  monitoring,
  custom,
} as const satisfies Readonly<Record<string, IntegrationType>>;

export type Type = keyof typeof integrationTypes;
