import * as v from "valibot";
import { field, optionalField } from "../../../kernel/field.ts";
import { createdAtOf } from "../../../kernel/ids.ts";
import { redaction } from "../../../kernel/secrets/secret-values.ts";
import { parseUrl } from "../../../kernel/text/url.ts";
import { textLike, textOf } from "../../../kernel/validation.ts";
import type { Payload } from "../../deliveries/delivery-format.ts";
import { type IntegrationType, withoutNulls } from "./integration-type.ts";

const wrongSite = "must be a provider's domain such as datadoghq.eu";
const isSite = (site: string) => parseUrl(`https://api.${site}/`) !== undefined;

const schema = v.object({
  api_key: field(textOf(1, 256), "The API key of the provider. It is secret."),
  site: field(
    v.pipe(textLike(253, /^(?=.*\.)[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/i, wrongSite), v.check(isSite, wrongSite)),
    "The provider's domain, without `api.`.",
  ),
  service: optionalField(v.nullable(textOf(1, 128)), "The `service` tag of events and metrics; none by default."),
});

type Data = Readonly<Record<string, string | null>> & { readonly error?: { readonly message: string } };

const outcomes: Readonly<Record<string, string>> = {
  "deployment.succeeded": "success",
  "deployment.failed": "failure",
  "deployment.rolled_back": "rolled_back",
};

const paths: Readonly<Record<string, string>> = { events: "/api/v1/events", series: "/api/v2/series" };

const seconds = (iso: string) => Math.floor(Date.parse(iso) / 1000);

function tagsOf(event: string, data: Data, service: unknown): string[] {
  const tags = { event, env: data.environment, version: data.version, project: data.project_id, service };
  return Object.entries(withoutNulls(tags)).map(([name, value]) => `${name}:${value}`);
}

/** The event in the provider's form and, after a deployment, its metrics. */
function payloadsOf(event: string, timestamp: string, data: Data, service: unknown): Payload[] {
  const tags = tagsOf(event, data, service);
  const text = Object.entries(data)
    .map(([name, value]) => `${name}: ${typeof value === "object" ? (value?.message ?? "none") : value}`)
    .join("\n");
  const outcome = outcomes[event];
  const alert_type = outcome === "failure" ? "error" : outcome === "rolled_back" ? "warning" : "info";
  const providerEvent = { title: event, text, date_happened: seconds(timestamp), alert_type, tags };
  const payloads = [{ target: "events", body: JSON.stringify(providerEvent) }];
  if (outcome === undefined) return payloads;
  const started = createdAtOf(data.deployment_id ?? "");
  const point = (value: number) => [{ timestamp: seconds(timestamp), value }];
  const series = [
    {
      metric: "svc.deployment.duration",
      type: 3,
      unit: "second",
      points: point((Date.parse(timestamp) - started) / 1000),
      tags,
    },
    { metric: "svc.deployment.count", type: 1, interval: 1, points: point(1), tags: [...tags, `outcome:${outcome}`] },
  ];
  payloads.push({ target: "series", body: JSON.stringify({ series }) });
  return payloads;
}

/** Forwards events and deployment metrics to the provider. Needs the plan pro or enterprise. */
export const monitoring: IntegrationType = {
  schema,
  parse(config) {
    const { api_key, site, service } = config as v.InferOutput<typeof schema>;
    const name = service ? `${site} (${service})` : site;
    return { name, events: ["*"], config: withoutNulls({ site, service }), secrets: { api_key } };
  },
  redacted: () => ({ api_key: redaction }),
  target: ({ config }) => ({ field: "config.site", url: `https://api.${config.site}/` }),
  format: {
    payloads: ({ event, timestamp, data }, config) => payloadsOf(event, timestamp, data as Data, config.service),
    request: ({ target }, { config, secrets }) => ({
      url: `https://api.${config.site}${paths[target]}`,
      headers: { "dd-api-key": secrets.api_key ?? "" },
    }),
  },
};
