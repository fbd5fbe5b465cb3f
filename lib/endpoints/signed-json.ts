import type { Kind } from "./endpoint-kind.ts";
import { signatureOf } from "./signature.ts";

/** Webhooks and custom integrations: `{"event","timestamp","data"}`, signed where there is a secret. */
export const signed: Kind = {
  parcels: ({ event, timestamp, data }) => [{ target: "", body: JSON.stringify({ event, timestamp, data }) }],
  address: ({ body }, { config, secrets }) => ({
    url: String(config.url),
    headers: secrets.secret === undefined ? {} : { "x-service-signature": signatureOf(secrets.secret, body) },
  }),
};
