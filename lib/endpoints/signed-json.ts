import type { DeliveryFormat } from "./delivery-format.ts";
import { signatureOf } from "./signature.ts";

/** Webhooks and custom integrations: `{"event","timestamp","data"}`, signed where there is a secret. */
export const signedJson: DeliveryFormat = {
  payloads: ({ event, timestamp, data }) => [{ target: "", body: JSON.stringify({ event, timestamp, data }) }],
  request: ({ body }, { config, secrets }) => ({
    url: String(config.url),
    headers: secrets.secret === undefined ? {} : { "x-service-signature": signatureOf(secrets.secret, body) },
  }),
};
