import { dirname } from "node:path/posix";
import type { Source } from "./source.ts";

/** The folders that know no feature, each with the folders that it may import. */
export const layers: Readonly<Record<string, readonly string[]>> = {
  kernel: [],
  store: ["kernel"],
  http: ["kernel", "store"],
  jobs: ["kernel", "store"],
  drivers: ["kernel"],
  proxy: ["kernel"],
  client: [],
};

/**
 * The files outside `lib/client/` that the client may import, with the reason. They import nothing, so they run in
 * browsers too.
 */
export const forBrowsers: Readonly<Record<string, string>> = {
  "lib/kernel/standing-clock.ts": "the client, the service and the program say the same sentence",
  "lib/kernel/secrets/received-webhook.ts": "both checks of signatures take the same headers and bodies",
};

/** The interfaces beside `/v1`: they may use http's functions and the services of features. */
export const besides = ["control", "dashboard", "downloads", "git-host", "health", "hooks", "live"] as const;

/** Folders that compose: they may know every feature. */
export const composition = [
  "app", // makes, wires, starts and shuts down features; snapshots and forks
  "config", // declares and reads every option; the seed
  "instruments", // the testers' tools
] as const;

/** The only files at the top of lib: the public surfaces, createService() and the list of operations. */
export const root = ["index", "service", "testing", "client", "operations"] as const;

/** The closed list of a feature's files, and its splits by name, each with its content. */
export const closed = ["states", "schema", "repository", "service", "operations", "jobs"] as const;
export const splits: Readonly<Record<string, string>> = {
  "deployments/source": "what is deployed: the rules of a source",
  "deployments/rollout": "how deployments advance",
  "deployments/environment-queues": "which deployment of an environment is next",
  "deployments/pushes": "deploys what was pushed to a repository",
  "deployments/cancellation": "ends deployments before their time",
  "deployments/commit-statuses": "tells the code host how deployments of commits go",
  "deployments/environment-repository": "the newest deployments of an environment, and those that have not ended",
  "deployments/stored-releases": "deployments as a runtime starts them again",
  "apps/supervisor": "keeps live releases running",
  "apps/logs": "what live releases print",
  "apps/removal": "what runs of deleted environments and projects",
  "apps/domains": "the own host names of environments",
  "apps/host-names": "the hosts that environments get",
  "apps/urls": "where apps are reached",
  "apps/domains-repository": "the rows of domains and of given up hosts",
  "platform/apps/data-sizes": "how much environments keep in `/data`",
  "apps/schedules": "runs the schedules of live releases",
  "apps/schedules-repository": "the rows of schedules and their runs",
  "deliveries/endpoint-repository": "the rows of endpoints",
  "environments/stored-variables": "how variables are stored, and which ones a copy has",
  "environments/project-removal": "removes the environments of a deleted project",
  "integrations/project-removal": "turns off the integrations of a deleted project",
  "environments/running-schema": "the wire form of what runs in an environment",
  "environments/rules": "the rules of what callers may change",
  "environments/protection": "the user and password before an app, as stored and as shown",
  "apps/crashes": "counts the crashes of live releases, and announces them",
  "apps/restarts": "restarts of live releases",
  "apps/comeback": "the return of live releases after a crash",
  "apps/lifecycle": "the start and the end of what runs",
  "apps/placement": "where environments run, and what that means with one server",
  "apps/several-servers": "where environments run with several servers on one database",
  "apps/runtime-leases": "the runtimes of all servers",
  "apps/follow-rows": "lets run here what the rows say",
  "apps/other-servers": "what is asked here and done by another server",
  "integrations/previews": "the environments of pull requests",
  "integrations/open-previews": "the open previews of environments",
  "events/event-data": "the types of what events carry, generated",
  "openapi/id-prefixes": "the prefix of identifiers in each collection",
  "deployments/logs": "how a log grows",
  "deployments/project-removal": "removes the deployments of a deleted project",
  "deliveries/outbox": "events become deliveries",
  "deliveries/delivery-format": "the body, URL and headers of a type of endpoint",
  "deliveries/signed-json": "the format of webhooks and custom integrations",
  "deliveries/signature": "the signature, and nothing else",
  "deliveries/response-redaction": "removes secrets from responses",
  "deliveries/delivery-request": "what an attempt sends, and what callers see of it",
  "deliveries/custom-headers": "headers of an endpoint's own, which go with every attempt",
  "deliveries/attempts": "one attempt of a delivery: counted, sent, settled",
  "deliveries/redeliveries": "one more attempt, beside the schedule",
  "deliveries/backoff": "the delays between attempts",
  "deliveries/delivery-api": "deliveries as callers see and use them",
  "generations/announcements": "what others hear of a generation",
  "generations/asset-links": "the files: their types, and links to them",
  "generations/inputs": "what is meant by the inputs",
  "generations/models": "every model and its inputs",
  "generations/price-list": "what is told of the built-in models, and what they cost",
  "generations/execution": "how generations advance",
  "generations/generation-queue": "which generation starts next",
  "generations/model-drivers": "which driver runs which model",
  "generations/driver-progress": "publishes what a driver reports while it works",
  "generations/driver-work": "what a driver sees, and how its answers are checked",
  "integrations/integration-types": "every type of integration",
  "integrations/pushes": "pushes from code hosts",
  "integrations/kinds/integration-type": "the interface of a type of integration",
  "integrations/kinds/chat": "a type of integration",
  "integrations/kinds/code-host": "a type of integration",
  "integrations/kinds/custom": "a type of integration",
  "integrations/kinds/monitoring": "a type of integration",
  "scenarios/stored-outcome": "the outcome that work took from a scenario, stored in its row",
  "scenarios/stepper": "moves work whose pace is polls or manual",
  "invitations/mail-content": "what the mail of an invitation says",
  "mails/content": "what a mail says, as text and as HTML",
  "openapi/document": "the published document, made from the operations",
  "openapi/components": "its shared schemas, parameters and webhooks",
  "openapi/descriptions": "its prose",
  "openapi/examples": "its examples",
  "openapi/json-schema": "valibot schemas as JSON Schema",
  "events/catalog": "every event and its data",
  "events/bus": "announces in the transaction",
  "organizations/code-host-rights": "whom the operator's code host serves",
  "keys/made-key": "what a key may give to one that it makes",
  "keys/ends": "the ends of keys, alone or with all that they made",
  "keys/sessions": "sign-ins of the dashboard, each with a user behind it, and mostly a key",
  "keys/identities": "finds the callers of keys, remembered while nothing changed",
  "keys/revocation-watch": "tells when a key stops, for what outlasts a request",
  "events/wait-for-change": "waiting for committed changes, without polling",
  "events/change-feed": "publishes committed changes",
  "events/event-reader": "the events of all processes in the order of their commits",
};

/**
 * `kernel` for `lib/kernel/api.ts`; the top folder, such as `deployments`, for subfolders too; empty at the top of lib
 * and outside it.
 */
export const folderOf = (path: string): string => /^lib\/([^/]+)\//.exec(path)?.[1] ?? "";
export const isComposition = (folder: string) => (composition as readonly string[]).includes(folder);
export const isFeature = (folder: string) =>
  folder !== "" && !(folder in layers) && !(besides as readonly string[]).includes(folder) && !isComposition(folder);
export const inLib = ({ path }: Source) => path.startsWith("lib/");
export const inTests = ({ path }: Source) => path.startsWith("test/");
/** `repository` for `lib/features/users/repository.ts`. */
export const fileOf = (path: string) => path.slice(dirname(path).length + 1).replace(/\.ts$/, "");
/** Whether a file holds queries: `repository.ts`, or a split such as `environment-repository.ts`. */
export const isRepository = (path: string) => /^([a-z]+-)?repository$/.test(fileOf(path));
