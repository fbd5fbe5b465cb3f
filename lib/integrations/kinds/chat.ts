import * as v from "valibot";
import type { Parcel } from "../../endpoints/endpoint-kind.ts";
import { eventsRule, urlRule } from "../../endpoints/schema.ts";
import { duration } from "../../kernel/duration.ts";
import { madeAt } from "../../kernel/ids.ts";
import { textOf } from "../../kernel/validation.ts";
import { given, hidden, type IntegrationType } from "./integration-type.ts";

const schema = v.object({
  webhook_url: urlRule,
  channel: v.optional(v.nullable(textOf(1, 80))),
  events: v.optional(eventsRule, ["*"]),
});

type Data = Readonly<Record<string, string | null>>;

const short = (version: string | null | undefined) =>
  version && /^[0-9a-f]{40}$/.test(version) ? version.slice(0, 7) : (version ?? "not known yet");

/** How long it took, by the time in the deployment's identifier. */
const took = ({ deployment_id }: Data, timestamp: string) =>
  duration(Math.round((Date.parse(timestamp) - madeAt(deployment_id ?? "")) / 1000) * 1000);

const headlines: Readonly<Record<string, (data: Data, timestamp: string) => string>> = {
  "deployment.queued": ({ environment }) => `⏳ Deployment to *${environment}* is queued`,
  "deployment.started": ({ environment }) => `🔨 Build for *${environment}* started`,
  "deployment.succeeded": (data, at) => `✅ Deployment to *${data.environment}* succeeded after ${took(data, at)}`,
  "deployment.failed": (data, at) =>
    `❌ Deployment to *${data.environment}* failed after ${took(data, at)}: ${data.reason}`,
  "deployment.rolled_back": ({ environment, version, reason }) =>
    `↩️ *${environment}* goes back to version ${short(version)} (${reason === "manual" ? "asked for" : "health check failed"})`,
  "project.created": ({ name, region }) => `📦 Project *${name}* was created in ${region}`,
  "project.deleted": ({ name }) => `🗑️ Project *${name}* was deleted`,
  "user.invited": ({ email, role }) => `✉️ ${email} was invited as ${role}`,
  "user.removed": ({ email }) => `👋 ${email} was removed`,
  ping: () => "🏓 This channel is connected",
};

/** Signs that a chat reads as markup, in text that came from outside. */
const escaped = (data: object): Data =>
  Object.fromEntries(
    Object.entries(data).map(([key, value]) => [
      key,
      typeof value === "string" ? value.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;") : value,
    ]),
  );

/** Posts `{channel?, text, blocks?}` as an incoming webhook. */
export const chat: IntegrationType = {
  schema,
  parts(config) {
    const { webhook_url, channel, events } = config as v.InferOutput<typeof schema>;
    return { name: channel ?? new URL(webhook_url).host, events, config: given({ channel }), secrets: { webhook_url } };
  },
  redacted: ({ webhook_url = "" }) => ({ webhook_url: `https://${new URL(webhook_url).host}/${hidden}` }),
  url: ({ secrets }) => ({ field: "config.webhook_url", url: secrets.webhook_url ?? "" }),
  kind: {
    parcels({ event, timestamp, data }, config): readonly Parcel[] {
      const clean = escaped(data);
      const text = headlines[event]?.(clean, timestamp) ?? event;
      const facts = Object.entries({
        Version: clean.version && short(clean.version),
        Deployment: clean.deployment_id,
        Project: clean.project_id,
      });
      const fields = facts
        .filter(([, value]) => value)
        .map(([name, value]) => ({ type: "mrkdwn", text: `*${name}*\n${value}` }));
      const blocks = [{ type: "section", text: { type: "mrkdwn", text }, ...(fields.length > 0 && { fields }) }];
      return [{ target: "", body: JSON.stringify({ ...given({ channel: config.channel }), text, blocks }) }];
    },
    address: (_, { secrets }) => ({ url: secrets.webhook_url ?? "", headers: {} }),
  },
};
