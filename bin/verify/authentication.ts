import { type Check, chapter, expectStatus, unknownId } from "./check.ts";

const unknownKey = "sk_live_verify00000000000000000000000000";

/** Endpoints that need a key, with identifiers that do not exist. */
const reads = [
  "/projects",
  `/projects/proj_${unknownId}`,
  "/deployments",
  `/deployments/dep_${unknownId}`,
  `/deployments/dep_${unknownId}/logs`,
  "/users",
  `/users/usr_${unknownId}`,
  "/integrations",
  `/integrations/int_${unknownId}`,
  "/webhooks",
  `/generations/gen_${unknownId}`,
];
const writes = [
  "POST /projects",
  `PUT /projects/proj_${unknownId}`,
  `DELETE /projects/proj_${unknownId}`,
  "POST /deployments",
  `POST /deployments/dep_${unknownId}/rollback`,
  `POST /deployments/dep_${unknownId}/cancel`,
  "POST /users/invite",
  `PUT /users/usr_${unknownId}`,
  `DELETE /users/usr_${unknownId}`,
  "POST /integrations",
  `DELETE /integrations/int_${unknownId}`,
  "POST /webhooks",
  `DELETE /webhooks/wh_${unknownId}`,
  "POST /generations",
];

export const authentication: readonly Check[] = chapter("Authentication", {
  "A missing key yields 401 on every endpoint that reads": async (on) => {
    for (const path of reads) expectStatus(await on.send("GET", path, { key: null }), 401);
  },
  "A wrong key yields 401": async (on) => {
    expectStatus(await on.send("GET", "/projects", { key: unknownKey }), 401);
    expectStatus(await on.send("GET", "/projects", { key: "verify" }), 401);
  },
  "A missing key yields 401 on every endpoint that writes": async (on) => {
    for (const line of writes) {
      const [method = "", path = ""] = line.split(" ");
      expectStatus(await on.send(method, path, { key: null, ...(method !== "DELETE" && { body: {} }) }), 401);
    }
  },
});
