import { keyOf } from "./test-service.ts";
import { asked, type Before, each, is, on, success, without } from "./verify-trial.ts";

/** Servers with one fault each in conventions and projects, and the sentence that detects it. */
export const wrongServers: Readonly<Record<string, readonly [string, Before]>> = {
  "answers without a key": [
    "A missing key yields 401 on every endpoint that reads",
    asked(/^GET \/users$/, ({ key }) => ({ key: key ?? keyOf("owner") })),
  ],
  "answers 403 to a wrong key": [
    "A wrong key yields 401",
    on(/./, (reply, { key }) => {
      if (reply.status === 401 && key) reply.status = 403;
    }),
  ],
  "writes without a key": [
    "A missing key yields 401 on every endpoint that writes",
    on(/^DELETE \/webhooks/, (reply) => {
      if (reply.status === 401) reply.status = 404;
    }),
  ],
  "gives a key 60 requests": [
    "A key has 1,000 requests in a window, or more",
    on(/./, ({ headers }) => headers.set("x-ratelimit-limit", "60")),
  ],
  "has no rate-limit headers on errors": [
    "X-RateLimit-Limit, -Remaining and -Reset are on reads and errors",
    on(/./, (reply) => {
      if (reply.status >= 400) reply.headers.delete("x-ratelimit-reset");
    }),
  ],
  "counts no requests": [
    "X-RateLimit-Remaining counts requests down",
    on(/./, ({ headers }) => headers.set("x-ratelimit-remaining", "7")),
  ],
  "writes the reset in milliseconds": [
    "X-RateLimit-Reset is the Unix timestamp at which a window of 10 minutes resets",
    on(/./, ({ headers }) => headers.set("x-ratelimit-reset", `${Number(headers.get("x-ratelimit-reset")) * 1000}`)),
  ],
  "answers HTML": [
    "Response bodies are JSON",
    on(/^GET \/users$/, ({ headers }) => headers.set("content-type", "text/html")),
  ],
  "lacks request ids of lists": [
    "meta.request_id is present on every response",
    on(/^GET \/webhooks/, ({ body }) => {
      delete body.meta.request_id;
    }),
  ],
  "writes the time of an answer in seconds": [
    "meta.timestamp is an ISO 8601 datetime",
    on(/./, ({ body }) => {
      if (body?.meta) body.meta.timestamp = 1_767_225_600;
    }),
  ],
  "lacks request ids of errors": [
    "meta.request_id is present on errors",
    on(/./, (reply) => {
      if (reply.status === 404) reply.body = { error: reply.body.error };
    }),
  ],
  "gives all requests one id": [
    "Each request has its own request id",
    on(/./, ({ body }) => {
      if (body?.meta) body.meta.request_id = "req_1";
    }),
  ],
  "knows every identifier": [
    "An unknown identifier is refused",
    on(/^GET \/users\/usr_0{26}/, (reply) => success(reply, { id: "usr_0" })),
  ],
  "fails for malformed identifiers": [
    "A malformed identifier is refused",
    on(/%27/, (reply) => {
      reply.status = 500;
    }),
  ],
  "pages by 25": [
    "per_page is 20 by default",
    on(/^GET \/projects$/, ({ body }) => {
      body.meta.per_page = 25;
    }),
  ],
  "pages by 1,000": [
    "per_page is 100 at most",
    on(/per_page=101/, (reply) => success(reply, { data: [], meta: { per_page: 101 } })),
  ],
  "ignores per_page": [
    "per_page=1 gives one item, and says so",
    asked(/per_page=1$/, ({ path }) => ({ path: without(path, "per_page") })),
  ],
  "ignores the cursor": [
    "next_cursor leads through the whole list, and is null or absent on the last page",
    asked(/cursor=/, ({ path }) => ({ path: without(path, "cursor") })),
  ],
  "loses the last page": [
    "next_cursor leads through the whole list, and is null or absent on the last page",
    on(/cursor=/, ({ body }) => {
      if (body?.meta?.next_cursor === null) body.data = [];
    }),
  ],
  "gives projects another prefix": [
    "A project has id, name, region, description, status, created_at and updated_at",
    on(/^GET \/projects\?/, ({ body }) => {
      for (const one of body?.data ?? []) one.id = one.id.replace("proj_", "prj_");
    }),
  ],
  "writes datetimes as numbers": [
    "A project has id, name, region, description, status, created_at and updated_at",
    on(/^GET \/projects\?per_page=100$/, ({ body }) => {
      for (const one of body?.data ?? []) one.created_at = 1;
    }),
  ],
  "shows an unset description as a text": [
    "POST /projects answers an active project",
    on(/^POST \/projects$/, ({ body, status }) => {
      if (status < 300) body.description = "";
    }),
  ],
  "makes projects that are not active": [
    "POST /projects answers an active project",
    on(/^POST \/projects$/, ({ body, status }) => {
      if (status < 300) body.status = "new";
    }),
  ],
  "has two projects of one name": [
    "Names of projects are unique",
    on(/^GET \/projects\?per_page=100$/, ({ body }) => {
      for (const one of body?.data ?? []) one.name = "same";
    }),
  ],
  "updates before it creates": [
    "updated_at is not before created_at",
    each((record) => {
      if (is("proj_", record)) record["updated_at"] = "2001-01-01T00:00:00.000Z";
    }),
  ],
  "shows other values in a list": [
    "GET /projects/{id} answers the project of the list",
    on(/^GET \/projects\/proj_/, ({ body }) => {
      body.region = "elsewhere";
    }),
  ],
  "takes long names": [
    "The name of a new project has 3 to 64 characters",
    asked(/^POST \/projects$/, ({ body }) => ({
      body: { ...body, ...(body["name"] ? { name: String(body["name"]).slice(0, 64) } : {}) },
    })),
  ],
  "needs no region": [
    "name and region are required",
    asked(/^POST \/projects$/, ({ body }) => ({ body: { region: "eu-west-1", ...body } })),
  ],
  "takes a name twice": [
    "A name that another project has is refused",
    on(/^POST \/projects$/, (reply, { body }) => {
      if (reply.status === 409) success(reply, { id: "proj_1", ...body }, 201);
    }),
  ],
  "updates to long names": [
    "An update takes no name outside of 3 to 64 characters",
    asked(/^PUT \/projects/, ({ body }) => ({
      body: { ...body, ...(body["name"] ? { name: String(body["name"]).slice(0, 64) } : {}) },
    })),
  ],
  "makes projects with long descriptions": [
    "A description has at most 255 characters",
    asked(/^POST \/projects$/, ({ body }) => ({
      body: { ...body, ...(body["description"] ? { description: String(body["description"]).slice(0, 255) } : {}) },
    })),
  ],
  "takes long descriptions": [
    "A description has at most 255 characters",
    asked(/^PUT \/projects/, ({ body }) => ({
      body: {
        ...body,
        ...(body["description"] !== undefined && { description: String(body["description"]).slice(0, 255) }),
      },
    })),
  ],
  "does not clear a description": [
    "An empty description clears it",
    asked(/^PUT \/projects/, ({ body }) => ({ body: body["description"] === "" ? {} : body })),
  ],
  "clears what an update leaves out": [
    "An update keeps the fields that it leaves out",
    asked(/^PUT \/projects/, ({ body }) => ({ body: { description: null, ...body } })),
  ],
  "never moves updated_at": [
    "An update refreshes updated_at",
    each((record) => {
      if (is("proj_", record)) record["updated_at"] = record["created_at"];
    }),
  ],
  "moves a project to another region": [
    "The region cannot be changed",
    (() => {
      let region: unknown;
      return async (request, serve) => {
        if (request.method === "PUT" && request.body["region"] !== undefined) region = request.body["region"];
        const reply = await serve(request);
        if (region !== undefined && /^\/projects\/proj_/.test(request.path) && reply.status === 200)
          reply.body.region = region;
        return reply;
      };
    })(),
  ],
  "answers a body to DELETE": [
    "A removed project is gone: DELETE answers 204 without a body",
    on(/^DELETE \/projects/, (reply) => {
      if (reply.status === 204) success(reply, {});
    }),
  ],
  "keeps what it has removed": [
    "A removed project is gone: DELETE answers 204 without a body",
    asked(/^DELETE \/projects/, ({ path }) => ({ method: "GET", path })),
  ],
};
