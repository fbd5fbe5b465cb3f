import { operationsOf } from "../kernel/operation.ts";
import { byId } from "../kernel/validation.ts";
import type { DeliveryApi } from "./delivery-api.ts";
import { byDelivery, deliveriesQuery, delivery, recovered, recovery } from "./schema.ts";
import type { Family } from "./service.ts";

const operation = operationsOf<{ deliveries: DeliveryApi }>();

/** The four operations on deliveries, the same for webhooks and integrations. CONTRACT section 9. */
export const deliveryOperations = <const F extends Family>(family: F) => {
  const feature = `${family}s` as const;
  return [
    operation({
      id: `${feature}.test`,
      summary: "Send a ping event",
      method: "POST",
      path: `/${feature}/{id}/test`,
      needs: `${feature}:write`,
      answers: "accepted",
      addition: true,
      params: byId,
      result: delivery,
      problems: ["not_found"],
      run: ({ params }, { deliveries }, caller) => deliveries.test(family, caller, params.id),
    }),
    operation({
      id: `${feature}.deliveries`,
      summary: "List the deliveries with every try, newest first",
      method: "GET",
      path: `/${feature}/{id}/deliveries`,
      needs: `${feature}:read`,
      answers: "list",
      addition: true,
      params: byId,
      query: deliveriesQuery,
      result: delivery,
      problems: ["not_found"],
      run: ({ params, query }, { deliveries }, caller) => deliveries.list(family, caller, params.id, query),
    }),
    operation({
      id: `${feature}.redeliver`,
      summary: "Try one delivery once more, outside its ladder",
      method: "POST",
      path: `/${feature}/{id}/deliveries/{dlv}/redeliver`,
      needs: `${feature}:write`,
      answers: "accepted",
      addition: true,
      params: byDelivery,
      result: delivery,
      problems: ["not_found"],
      run: ({ params }, { deliveries }, caller) => deliveries.redeliver(family, caller, params.id, params.dlv),
    }),
    operation({
      id: `${feature}.recover`,
      summary: "Send every failed, abandoned or skipped delivery since an instant",
      method: "POST",
      path: `/${feature}/{id}/recover`,
      needs: `${feature}:write`,
      answers: "accepted",
      addition: true,
      params: byId,
      body: recovery,
      result: recovered,
      problems: ["not_found"],
      run: ({ params, body }, { deliveries }, caller) => deliveries.recover(family, caller, params.id, body.since),
    }),
  ];
};
