import { session } from "./api.ts";
import type { IconName } from "./icon.tsx";
import { instrumentPages } from "./pages/instrument-pages.tsx";

export type PageLink = readonly [path: string, text: string, icon: IconName];

/** The pages in the navigation, by what people come to do. */
export const groups = (): readonly (readonly [title: string, pages: readonly PageLink[]])[] => [
  ["", [["/", "Overview", "dashboard"]]],
  [
    "Build",
    [
      ["/projects", "Projects", "box"],
      ["/deployments", "Deployments", "rocket"],
      ["/generations", "Generations", "image"],
      ["/usage", "Costs", "coins"],
    ],
  ],
  [
    "Connect",
    [
      ["/webhooks", "Webhooks", "webhook"],
      ["/integrations", "Integrations", "plug"],
      ["/events", "Events", "zap"],
      ["/requests", "Requests", "arrows"],
    ],
  ],
  ...(session.value?.mode === "dev" ? [["Emulate", instrumentPages] as const] : []),
  [
    "Administer",
    [
      ["/people", "People", "users"],
      ["/keys", "API keys", "key"],
      ["/audit-log", "Audit log", "scroll"],
      ["/system", "System", "activity"],
    ],
  ],
];
