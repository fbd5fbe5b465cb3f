import { redaction } from "../../kernel/secrets/secret-values.ts";
import { version } from "../../kernel/version.ts";
import type { Row } from "../../store/tables.ts";
import { headersIn } from "./custom-headers.ts";
import type { DeliveryFormat, Settings } from "./delivery-format.ts";
import { standardHeaders } from "./signature.ts";

export interface DeliveryRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface Parts {
  readonly delivery: Pick<Row<"deliveries">, "id" | "event" | "tries" | "target" | "body">;
  readonly format: DeliveryFormat;
  /** The current secrets: a new secret also signs retries. */
  readonly settings: Settings;
}

const agent = `svc-server/${version()}`;

const withoutPrevious = ({ previous: _, ...secrets }: Settings["secrets"]): Settings["secrets"] => secrets;

export function requestOf({ delivery, format, settings }: Parts, at: string, isStandard: boolean): DeliveryRequest {
  const { secret, previous } = settings.secrets;
  const isOver = previous !== undefined && String(settings.config.previous_until) <= at;
  const present = isOver ? { ...settings, secrets: withoutPrevious(settings.secrets) } : settings;
  const { url, headers: own } = format.request(delivery, present);
  const standard =
    isStandard && secret !== undefined
      ? standardHeaders(secret, delivery.id, at, delivery.body, isOver ? undefined : previous)
      : {};
  const common = {
    "user-agent": agent,
    "content-type": "application/json",
    "x-service-event": delivery.event,
    "x-service-delivery": delivery.id,
    "x-service-attempt": String(delivery.tries),
  };
  // The common headers come last, so no format can override them.
  const headers = { ...headersIn(settings.secrets), ...own, ...standard, ...common };
  return { url, headers, body: delivery.body };
}

/** The request as callers see it. Callers who may redeliver it see the signature too, to send it by hand. */
export function withoutSecrets(
  { url, headers, body }: DeliveryRequest,
  secrets: Settings["secrets"],
  showsSignature: boolean,
): DeliveryRequest {
  const all = Object.values(secrets);
  const own = headersIn(secrets);
  const isHidden = (name: string, value: string) =>
    Object.hasOwn(own, name) || all.includes(value) || (!showsSignature && /-signature(-previous)?$/.test(name));
  return {
    url: all.includes(url) ? `${new URL(url).origin}/${redaction}` : url,
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, isHidden(name, value) ? redaction : value]),
    ),
    body,
  };
}
