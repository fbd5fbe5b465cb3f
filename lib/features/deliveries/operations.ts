import { operationsOf } from "../../kernel/operation.ts";
import { pageQuery } from "../../kernel/validation.ts";
import type { DeliveryApi } from "./delivery-api.ts";
import { delivery, deliveryDetail, recovered, recovery } from "./schema.ts";
import type { Family } from "./service.ts";

const operation = operationsOf<{ deliveries: DeliveryApi }>();

/** The operations on deliveries. Webhooks and integrations share them (schema/README.md#operations). */
export const deliveryOperations = (family: Family) => {
  const feature = `${family}s` as const;
  return [
    operation({
      id: `${feature}.test`,
      summary: "Send a test event",
      description:
        "Queues a delivery of the event `ping` to this endpoint only and returns it. It is sent even while the endpoint is inactive. Read the result in the list of deliveries.",
      route: `POST /${feature}/{id}/test`,
      needs: `${feature}:write`,
      answers: "accepted",
      result: delivery,
      run: ({ params }, { deliveries }, caller) => deliveries.test(family, caller, params.id),
    }),
    operation({
      id: `${feature}.deliveries`,
      summary: "List deliveries, newest first",
      description:
        "Lists the deliveries to this endpoint with every attempt: its time, status, duration, error, and the first 1 KiB of the response. `skipped` marks an event that happened while the endpoint was inactive.",
      route: `GET /${feature}/{id}/deliveries`,
      needs: `${feature}:read`,
      answers: "list",
      query: pageQuery,
      result: delivery,
      run: ({ params, query }, { deliveries }, caller) => deliveries.list(family, caller, params.id, query),
    }),
    operation({
      id: `${feature}.delivery`,
      summary: "Get a delivery with its request",
      description:
        "Returns one delivery with every attempt and with `request`: the URL, headers and body that an attempt sends now. Secrets are redacted; the signature is shown to callers who may send the delivery again.",
      route: `GET /${feature}/{id}/deliveries/{dlv}`,
      needs: `${feature}:read`,
      answers: "object",
      result: deliveryDetail,
      run: ({ params }, { deliveries }, caller) => deliveries.get(family, caller, params.id, params.dlv),
    }),
    operation({
      id: `${feature}.redeliver`,
      summary: "Send a delivery again",
      description:
        "Queues one more attempt of this delivery, with the same identifier and the same bytes, even while the endpoint is inactive. Its number follows that of the last attempt. If it fails, it is not retried and the endpoint stays as it is.",
      route: `POST /${feature}/{id}/deliveries/{dlv}/redeliver`,
      needs: `${feature}:write`,
      answers: "accepted",
      result: delivery,
      run: ({ params }, { deliveries }, caller) => deliveries.redeliver(family, caller, params.id, params.dlv),
    }),
    operation({
      id: `${feature}.recover`,
      summary: "Send missed deliveries again",
      description:
        "Queues every failed, abandoned or skipped delivery since the given time, each with a new series of retries, and returns their number. This does not turn the endpoint on; activate it first.",
      route: `POST /${feature}/{id}/recover`,
      needs: `${feature}:write`,
      answers: "accepted",
      body: recovery,
      result: recovered,
      run: ({ params, body }, { deliveries }, caller) => deliveries.recover(family, caller, params.id, body.since),
    }),
  ];
};
