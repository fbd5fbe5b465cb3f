import * as v from "valibot";
import type { Payload } from "../../endpoints/delivery-format.ts";
import { eventsRule, urlRule } from "../../endpoints/schema.ts";
import { formatDuration } from "../../kernel/duration.ts";
import { createdAtOf } from "../../kernel/ids.ts";
import { textOf } from "../../kernel/validation.ts";
import { type IntegrationType, redaction, withoutNulls } from "./integration-type.ts";

const schema = v.object({
  webhook_url: urlRule,
  channel: v.optional(v.nullable(textOf(1, 80))),
  events: v.optional(eventsRule, ["*"]),
});

type Data = Readonly<Record<string, string | null>>;

const shortVersion = (version: string | null | undefined) =>
  version && /^[0-9a-f]{40}$/.test(version) ? version.slice(0, 7) : (version ?? "not known yet");

/** The time since the deployment was created, by the time in its identifier. */
const elapsed = ({ deployment_id }: Data, timestamp: string) =>
  formatDuration(Math.round((Date.parse(timestamp) - createdAtOf(deployment_id ?? "")) / 1000) * 1000);

const headlines: Readonly<Record<string, (data: Data, timestamp: string) => string>> = {
  "deployment.queued": ({ environment }) => `⏳ Deployment to *${environment}* is queued`,
  "deployment.started": ({ environment }) => `🔨 Build for *${environment}* started`,
  "deployment.succeeded": (data, at) => `✅ Deployment to *${data.environment}* succeeded after ${elapsed(data, at)}`,
  "deployment.failed": (data, at) =>
    `❌ Deployment to *${data.environment}* failed after ${elapsed(data, at)}: ${data.reason}`,
  "deployment.rolled_back": ({ environment, version, reason }) =>
    `↩️ *${environment}* goes back to version ${shortVersion(version)} (${reason === "manual" ? "asked for" : "health check failed"})`,
  "project.created": ({ name, region }) => `📦 Project *${name}* was created in ${region}`,
  "project.deleted": ({ name }) => `🗑️ Project *${name}* was deleted`,
  "user.invited": ({ email, role }) => `✉️ ${email} was invited as ${role}`,
  "user.removed": ({ email }) => `👋 ${email} was removed`,
  ping: () => "🏓 This channel is connected",
};

/** Escapes the characters that chats read as markup, in text that users wrote. */
const escaped = (data: object): Data =>
  Object.fromEntries(
    Object.entries(data).map(([key, value]) => [
      key,
      typeof value === "string" ? value.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;") : value,
    ]),
  );

/** Posts `{channel?, text, blocks?}` to an incoming webhook. */
export const chat: IntegrationType = {
  schema,
  parse(config) {
    const { webhook_url, channel, events } = config as v.InferOutput<typeof schema>;
    return {
      name: channel ?? new URL(webhook_url).host,
      events,
      config: withoutNulls({ channel }),
      secrets: { webhook_url },
    };
  },
  redacted: ({ webhook_url = "" }) => ({ webhook_url: `https://${new URL(webhook_url).host}/${redaction}` }),
  target: ({ secrets }) => ({ field: "config.webhook_url", url: secrets.webhook_url ?? "" }),
  format: {
    payloads({ event, timestamp, data }, config): readonly Payload[] {
      const safe = escaped(data);
      const text = headlines[event]?.(safe, timestamp) ?? event;
      const facts = Object.entries({
        Version: safe.version && shortVersion(safe.version),
        Deployment: safe.deployment_id,
        Project: safe.project_id,
      });
      const fields = facts
        .filter(([, value]) => value)
        .map(([name, value]) => ({ type: "mrkdwn", text: `*${name}*\n${value}` }));
      const blocks = [{ type: "section", text: { type: "mrkdwn", text }, ...(fields.length > 0 && { fields }) }];
      return [{ target: "", body: JSON.stringify({ ...withoutNulls({ channel: config.channel }), text, blocks }) }];
    },
    request: (_, { secrets }) => ({ url: secrets.webhook_url ?? "", headers: {} }),
  },
};
