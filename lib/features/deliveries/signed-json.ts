import type { DeliveryFormat } from "./delivery-format.ts";
import { signatureOf } from "./signature.ts";

/** The format of webhooks and custom integrations: `{"event","timestamp","data"}`, signed if there is a secret. */
export const signedJson: DeliveryFormat = {
  payloads: ({ event, timestamp, data }) => [{ target: "", body: JSON.stringify({ event, timestamp, data }) }],
  request: ({ body }, { config, secrets: { secret, previous } }) => ({
    url: String(config.url),
    headers: {
      ...(secret !== undefined && { "x-service-signature": signatureOf(secret, body) }),
      ...(previous !== undefined && { "x-service-signature-previous": signatureOf(previous, body) }),
    },
  }),
};
