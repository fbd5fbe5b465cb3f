import { dirname } from "node:path/posix";
import type { Source } from "./source.ts";

/** What knows no feature, and what each of these folders may import of ours. */
export const layers: Readonly<Record<string, readonly string[]>> = {
  kernel: [],
  store: ["kernel"],
  http: ["kernel", "store"],
  jobs: ["kernel", "store"],
  drivers: ["kernel"],
  client: [],
};

/** The interfaces beside `/v1`: they may use http's functions and the features' services. */
export const besides = ["assets", "control", "health", "hooks", "live", "dashboard"] as const;

/** Files at the top of lib, which only compose: the one place that may know every feature. */
export const root = [
  "service", // createService()
  "assemble", // features, job loop and interface, wired together
  "facade", // what users hold
  "instruments", // what testers hold of the mode dev
  "operations", // every operation, in one list
  "orders", // deliveries in every order, on forks
  "worlds", // the states that a service goes through: snapshots, forks
  "compose", // makes every feature and hands it its ports
  "open", // store, clock, ids, chance, log
  "closing", // how a service ends
  "begin", // the first organization, owner and key
  "past", // what a database brings along from the mode dev
  "admin", // the operator's commands on a database, without a server
  "seed", // fills an empty database
  "options", // every option, read
  "settings", // every option, declared
  "settings-words", // what options are declared with
  "settings-work", // the options of what is deployed, delivered and pushed
  "index",
  "testing",
  "client",
  "typed", // every operation as a typed call, over whatever sends
  "inside", // that of a service in this process, without a port
] as const;

/** The closed list of a feature's files, and its splits by name. Each split says what it holds. */
export const closed = ["states", "schema", "repository", "service", "operations", "jobs"] as const;
export const splits: Readonly<Record<string, string>> = {
  "deployments/source": "what is deployed: the rules of a source",
  "deployments/rollout": "how deployments advance",
  "deployments/steps": "how they move whose scenario lets no time move them",
  "deployments/logs": "how a log grows",
  "deployments/removal": "takes away what a project holds",
  "deliveries/endpoints": "where events go: webhooks and integrations alike",
  "deliveries/kind": "how a type of endpoint is spoken to",
  "deliveries/signed": "webhooks and custom integrations",
  "deliveries/signature": "the signature, and nothing else",
  "deliveries/redact": "what must not be kept of an answer",
  "deliveries/tries": "one try of a delivery: counted, sent, settled",
  "deliveries/ladder": "how long to wait between tries",
  "deliveries/desk": "what callers see and do of deliveries",
  "generations/assets": "the files: their types, and links to them",
  "generations/inputs": "what is meant by the inputs",
  "generations/models": "every model, its inputs and its price",
  "generations/progress": "how generations advance",
  "generations/runners": "which driver runs which model",
  "generations/steps": "how they move whose scenario lets no time move them",
  "integrations/catalog": "every type of integration",
  "integrations/pushes": "what code hosts post",
  "integrations/kinds/type": "what a type of integration is",
  "integrations/kinds/chat": "a type of integration",
  "integrations/kinds/code-host": "a type of integration",
  "integrations/kinds/custom": "a type of integration",
  "integrations/kinds/monitoring": "a type of integration",
  "scenarios/script": "what a scenario told, as it is kept with the work that took it",
  "events/catalog": "every event and its data",
  "events/bus": "announces in the transaction",
  "keys/watch": "tells when a key stops, for what outlasts a request",
  "events/waiting": "waits for what is committed, instead of polling",
  "events/feed": "tells what was committed, in this process",
};

/** `kernel` for `lib/kernel/api.ts`; `deployments` for what is in a folder of it too; empty at the top and outside of lib. */
export const folderOf = (path: string): string => /^lib\/([^/]+)\//.exec(path)?.[1] ?? "";
export const isFeature = (folder: string) =>
  folder !== "" && !(folder in layers) && !(besides as readonly string[]).includes(folder);
export const inLib = ({ path }: Source) => path.startsWith("lib/");
export const inTests = ({ path }: Source) => path.startsWith("test/");
/** `repository` for `lib/users/repository.ts`. */
export const fileOf = (path: string) => path.slice(dirname(path).length + 1).replace(/\.ts$/, "");
