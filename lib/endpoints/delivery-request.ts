import { version } from "../kernel/version.ts";
import type { Row } from "../store/tables.ts";
import { type DeliveryFormat, headersOf, type Settings } from "./delivery-format.ts";
import { redacted } from "./response-redaction.ts";
import { standardHeaders } from "./signature.ts";

export interface DeliveryRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface Parts {
  readonly delivery: Row<"deliveries">;
  readonly format: DeliveryFormat;
  /** As they are now: a new secret signs retries too. */
  readonly settings: Settings;
}

const agent = `svc-server/${version()}`;

/** What an attempt of a delivery sends that begins at this instant. */
export function requestOf({ delivery, format, settings }: Parts, at: string, isStandard: boolean): DeliveryRequest {
  const { url, headers: own } = format.request(delivery, settings);
  const { secret } = settings.secrets;
  const signed =
    isStandard && secret !== undefined ? { ...own, ...standardHeaders(secret, delivery.id, at, delivery.body) } : own;
  return { url, headers: headersOf(delivery, agent, signed), body: delivery.body };
}

/**
 * The request as callers see it. Whoever may send it again sees its signature, so that a copy of it is accepted as the
 * delivery is.
 */
export function withoutSecrets(
  { url, headers, body }: DeliveryRequest,
  secrets: Settings["secrets"],
  showsSignature: boolean,
): DeliveryRequest {
  const all = Object.values(secrets);
  const isHidden = (name: string, value: string) =>
    all.includes(value) || (!showsSignature && name.endsWith("-signature"));
  return {
    url: all.includes(url) ? `${new URL(url).origin}/${redacted}` : url,
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, isHidden(name, value) ? redacted : value]),
    ),
    body,
  };
}
