import { lifecycle } from "../../features/deployments/states.ts";
import { api, orNone } from "./api.ts";
import type { IconName } from "./icon.tsx";
import { go } from "./router.ts";
import { shortVersion } from "./sources.ts";

/** What the palette offers. */
export interface Item {
  readonly key: string;
  readonly text: string;
  readonly kind: string;
  readonly icon: IconName;
  readonly run: () => void;
}

/** The records that have a page, by what people call them. What the person may not read is left out. */
export async function readRecords(signal: AbortSignal) {
  const [projects, deployments, generations, webhooks, integrations, users] = await Promise.all([
    orNone(api.projects.list({ per_page: 100 }, { signal })),
    orNone(api.deployments.list({ per_page: 100 }, { signal })),
    orNone(api.generations.list({ per_page: 100 }, { signal })),
    orNone(api.webhooks.list({}, { signal })),
    orNone(api.integrations.list({}, { signal })),
    orNone(api.users.list({}, { signal })),
  ]);
  const item = (kind: string, icon: IconName, path: string, text: string): Item => ({
    key: `${kind} ${path} ${text}`,
    text,
    kind,
    icon,
    run: () => go(path),
  });
  return {
    deployments: deployments.data,
    items: [
      ...projects.data.map(({ id, name }) => item("project", "box", `/projects/${id}`, name)),
      ...lifecycle.states.map((state) =>
        item("state", "rocket", `/deployments?status=${state}`, `${state.replace("_", " ")} deployments`),
      ),
      // What is or was live leads: it is what people look for.
      ...deployments.data
        .toSorted((a, b) => Number(b.status === "active") - Number(a.status === "active"))
        .map(({ id, project_id, environment, status, version }) => {
          const name = projects.data.find((one) => one.id === project_id)?.name ?? project_id;
          const what = [name, shortVersion(version)].filter(Boolean).join(" ");
          return item("deployment", "rocket", `/deployments/${id}`, `${what} to ${environment}: ${status}`);
        }),
      ...webhooks.data.map(({ id, url }) => item("webhook", "webhook", `/webhooks/${id}`, url)),
      ...integrations.data.map(({ id, name }) => item("integration", "plug", `/integrations/${id}`, name)),
      ...users.data.map(({ name, email }) => item("person", "users", "/people", `${name}, ${email}`)),
      ...generations.data.flatMap(({ id, input: { prompt } }) =>
        typeof prompt === "string" ? [item("prompt", "image", `/generations/${id}`, prompt.slice(0, 100))] : [],
      ),
    ],
  };
}
