import { basename, dirname } from "node:path/posix";
import type { Source } from "./source.ts";

/** The rooms of lib, each with the rooms that it may import. `composition` knows all of them. */
export const rooms: Readonly<Record<string, readonly string[]>> = {
  kernel: [],
  store: ["kernel"],
  jobs: ["kernel", "store"],
  http: ["kernel", "store"],
  drivers: ["kernel"],
  features: ["kernel", "store", "jobs", "drivers"],
  platform: ["kernel", "store", "jobs", "http", "drivers", "features"],
  emulator: ["kernel", "store", "jobs", "http", "drivers", "features"],
  dashboard: ["kernel", "store", "jobs", "http", "drivers", "features", "emulator", "client"],
  config: ["kernel", "store", "http", "drivers", "features"],
  client: [],
};

/** Folders that may import one folder more, with the reason. */
export const alsoKnow: Readonly<Record<string, readonly [folder: string, reason: string]>> = {
  "lib/http/streams": ["lib/features/events", "a stream sends what happens, as events and changes"],
};

/**
 * The files outside `lib/client/` that the client may import, with the reason. They import nothing, so they run in
 * browsers too.
 */
export const forBrowsers: Readonly<Record<string, string>> = {
  "lib/kernel/manual-clock-hint.ts": "the client, the service and the program say the same sentence",
  "lib/kernel/errors.ts": "the client names the codes of the table; it takes the type alone",
  "lib/kernel/text/json.ts": "JSON that may be broken is parsed in one place",
  "lib/kernel/text/url.ts": "URLs are parsed in one place, which avoids a bug of Node",
  "lib/kernel/secrets/received-webhook.ts": "both checks of signatures take the same headers and bodies",
};

/** The only files at the top of lib: the public surfaces and createService(). */
export const root = ["index", "service", "testing", "client"] as const;

/** The closed list of a feature's files, and its splits by name, each with its content. */
export const closed = ["states", "schema", "repository", "service", "operations", "jobs"] as const;
export const splits: Readonly<Record<string, string>> = {
  "deployments/source": "what is deployed: the rules of a source",
  "deployments/rollout": "how deployments advance",
  "deployments/environment-queues": "which deployment of an environment is next",
  "deployments/pushes": "deploys what was pushed to a repository",
  "deployments/cancellation": "ends deployments before their time",
  "deployments/commit-statuses": "tells the code host how deployments of commits go",
  "deployments/stored-releases": "deployments as a runtime starts them again",
  "deliveries/endpoint-repository": "the rows of endpoints",
  "environments/stored-variables": "how variables are stored, and which ones a copy has",
  "environments/running-schema": "the wire form of what runs in an environment",
  "environments/rules": "the rules of what callers may change",
  "environments/live-apps": "the door to the platform",
  "environments/no-live-apps": "its twin for a service that simulates",
  "environments/domains": "the own host names of environments",
  "environments/domains-repository": "the rows of domains and of given up hosts",
  "environments/protection": "the user and password before an app, as stored and as shown",
  "integrations/previews": "the environments of pull requests",
  "integrations/open-previews": "the open previews of environments",
  "deployments/logs": "how a log grows",
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
  "mails/crash-mail": "tells owners and admins of a crash",
  "mails/content": "what a mail says, as text and as HTML",
  "events/catalog": "every event and its data",
  "events/bus": "announces in the transaction",
  "organizations/code-host-rights": "whom the operator's code host serves",
  "keys/new-key-limits": "what a key may give to one that it makes",
  "keys/sessions": "sign-ins of the dashboard, each with a user behind it, and mostly a key",
  "keys/identities": "finds the callers of keys, remembered while nothing changed",
  "keys/revocation-watch": "tells when a key stops, for what outlasts a request",
  "events/wait-for-change": "waiting for committed changes, without polling",
  "events/change-feed": "publishes committed changes",
  "events/event-reader": "the events of all processes in the order of their commits",
};

/** The room of a file: `kernel` for `lib/kernel/text/glob.ts`; empty at the top of lib and outside it. */
export const roomOf = (path: string): string => /^lib\/([^/]+)\//.exec(path)?.[1] ?? "";
/** The folder that holds a file: `text` for `lib/kernel/text/glob.ts`. */
export const folderOf = (path: string): string => basename(dirname(path));
/** The feature of a file: `users` for `lib/features/users/service.ts`; empty elsewhere. */
export const featureOf = (path: string): string => /^lib\/features\/([^/]+)\//.exec(path)?.[1] ?? "";
export const inLib = ({ path }: Source) => path.startsWith("lib/");
export const inTests = ({ path }: Source) => path.startsWith("test/");
/** `repository` for `lib/features/users/repository.ts`. */
export const fileOf = (path: string) => path.slice(dirname(path).length + 1).replace(/\.ts$/, "");
/** Whether a file holds queries: `repository.ts`, or a split such as `environment-repository.ts`. */
export const isRepository = (path: string) => /^([a-z]+-)?repository$/.test(fileOf(path));
