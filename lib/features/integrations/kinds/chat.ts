import * as v from "valibot";
import { field, optionalField } from "../../../kernel/field.ts";
import { createdAtOf } from "../../../kernel/ids.ts";
import { redaction } from "../../../kernel/secrets/secret-values.ts";
import { formatDuration } from "../../../kernel/text/duration.ts";
import { textOf } from "../../../kernel/validation.ts";
import type { Payload } from "../../deliveries/delivery-format.ts";
import { eventsRule, urlRule } from "../../deliveries/schema.ts";
import { type IntegrationType, withoutNulls } from "./integration-type.ts";

const schema = v.object({
  webhook_url: field(urlRule, "The incoming webhook of the chat. It is secret."),
  channel: optionalField(v.nullable(textOf(1, 80)), "The channel; without it, that of the webhook."),
  events: v.optional(field(eventsRule, "The events to post, or `*` for all, the default."), ["*"]),
});

type Data = Readonly<Record<string, string | null>>;

const shortVersion = (version: string | null | undefined) =>
  version && /^[0-9a-f]{40}$/.test(version) ? version.slice(0, 7) : (version ?? "not known yet");

/** The time since the creation of the deployment, taken from its identifier. */
const elapsed = ({ deployment_id }: Data, timestamp: string) =>
  formatDuration(Math.round((Date.parse(timestamp) - createdAtOf(deployment_id ?? "")) / 1000) * 1000);

const headlines: Readonly<Record<string, (data: Data, timestamp: string) => string>> = {
  "deployment.queued": ({ project, environment }) => `⏳ *${project}*: deployment to *${environment}* is queued`,
  "deployment.started": ({ project, environment }) => `🔨 *${project}*: build for *${environment}* started`,
  "deployment.succeeded": (data, at) =>
    `✅ *${data.project}*: deployment to *${data.environment}* succeeded after ${elapsed(data, at)}`,
  "deployment.failed": (data, at) =>
    `❌ *${data.project}*: deployment to *${data.environment}* failed after ${elapsed(data, at)}: ${data.reason}`,
  "deployment.rolled_back": ({ project, environment, version, reason }) =>
    `↩️ *${project}*: *${environment}* goes back to version ${shortVersion(version)} (${reason === "manual" ? "requested" : "health check failed"})`,
  "generation.completed": ({ model, cost_usd }) => `🖼️ Generation of *${model}* is completed and costs $${cost_usd}`,
  "generation.failed": ({ model, reason }) => `❌ Generation of *${model}* failed: ${reason}`,
  "app.crashed": ({ project, environment, process, exit_code, restarts }) =>
    `💥 *${project}*: *${process}* of *${environment}* ended by itself${exit_code === null ? "" : ` with the exit code ${exit_code}`}; restarts of this release: ${restarts}`,
  "schedule.failed": ({ project, environment, schedule, reason }) =>
    `⏰ *${project}*: the schedule *${schedule}* of *${environment}* failed: ${reason}`,
  "project.created": ({ name, region }) => `📦 Project *${name}* was created in ${region}`,
  "project.deleted": ({ name }) => `🗑️ Project *${name}* was deleted`,
  "user.invited": ({ email, role }) => `✉️ ${email} was invited as ${role}`,
  "user.removed": ({ email }) => `👋 ${email} was removed`,
  ping: () => "🏓 This channel is connected",
};

/** Escapes characters that chats read as markup, in text written by users. */
const escaped = (data: object): Data =>
  Object.fromEntries(
    Object.entries(data).map(([key, value]) => [
      key,
      typeof value === "string" ? value.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;") : value,
    ]),
  );

/** Slack refuses sections of more than 3,000 characters. One less leaves room for the "…" of a notification. */
const maxSection = 2999;
/** The limit of sections, so that no message fills a channel. A failure of 4,000 characters fits, even escaped. */
const maxSections = 10;

/** Slack refuses fields of more than 2,000 characters. */
const maxField = 1900;

/** Cuts escaped text, but never within an entity or a surrogate pair. */
const startOf = (text: string, length: number) =>
  text.length > length ? text.slice(0, length).replace(/(?:&\w*|[\uD800-\uDBFF])$/, "") : text;

const shortened = (text: string) => (text.length > maxField ? `${startOf(text, maxField)}…` : text);

function sectionsOf(text: string): string[] {
  const sections: string[] = [];
  for (let rest = text; rest !== ""; rest = rest.slice(sections.at(-1)?.length))
    sections.push(startOf(rest, maxSection));
  return sections.length > maxSections ? [...sections.slice(0, maxSections - 1), "…"] : sections;
}

const section = (text: string) => ({ type: "section", text: { type: "mrkdwn", text } });

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
    async payloads({ event, timestamp, data }, config, projectName): Promise<readonly Payload[]> {
      const project = "project_id" in data ? await projectName(String(data.project_id)) : null;
      const { error, ...others } = data as { readonly error?: { readonly message: string } };
      const safe = escaped({ ...others, ...(error && { reason: error.message }), project });
      const [first = "", ...rest] = sectionsOf(headlines[event]?.(safe, timestamp) ?? event);
      const facts = {
        Version: safe.version && shortVersion(safe.version),
        Deployment: safe.deployment_id,
        Generation: safe.generation_id,
      };
      const fields = Object.entries(facts)
        .filter(([, value]) => value)
        .map(([name, value]) => ({ type: "mrkdwn", text: `*${name}*\n${shortened(value ?? "")}` }));
      const blocks = [{ ...section(first), ...(fields.length > 0 && { fields }) }, ...rest.map(section)];
      // The text of the notification. Chats without blocks show it as the message.
      const text = rest.length > 0 ? `${first}…` : first;
      return [{ target: "", body: JSON.stringify({ ...withoutNulls({ channel: config.channel }), text, blocks }) }];
    },
    request: (_, { secrets }) => ({ url: secrets.webhook_url ?? "", headers: {} }),
  },
};
