import { createHash } from "node:crypto";
import { brotliDecompressSync, gunzipSync, inflateSync } from "node:zlib";
import { isSecretName } from "../../lib/kernel/secrets/secret-redaction.ts";
import { parseUrl } from "../../lib/kernel/text/url.ts";
import { isRecord } from "../output.ts";

export type Json = Readonly<Record<string, unknown>>;

export interface Exchange {
  readonly method: string;
  /** The path after the version prefix, with the query: `/projects?per_page=5`. */
  readonly path: string;
  readonly caller: string | undefined;
  readonly request: Buffer | undefined;
  readonly status: number;
  readonly type: string | undefined;
  readonly encoding: string | undefined;
  readonly answer: Buffer;
  readonly at: number;
}

/** A deployment or a generation, and when each of its states was first seen. */
export interface Work {
  readonly record: Json;
  readonly entered: Readonly<Record<string, number>>;
  readonly at: number;
}

const records = () => new Map<string, Json>();

const emptyAccount = (callers: readonly string[]) => ({
  /** The hashes of their keys. */
  callers,
  organization: { value: {} as Json },
  users: records(),
  projects: records(),
  /** By project, then by environment name. */
  environments: new Map<string, Map<string, Json>>(),
  webhooks: records(),
  integrations: records(),
  deployments: new Map<string, Work>(),
  generations: new Map<string, Work>(),
  /** Why deployments failed. */
  reasons: new Map<string, string>(),
});
/** Everything that the callers of one organization saw. */
export type Account = ReturnType<typeof emptyAccount>;

const collections = { usr: "users", proj: "projects", wh: "webhooks", int: "integrations" } as const;
/** The parts of an account that hold records by their identifiers. */
export const named = ["users", "projects", "webhooks", "integrations", "deployments", "generations"] as const;
const maxSecrets = 10_000;
/** A shorter text would also match words that are not secrets. */
const minSecret = 6;

const decoders: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  identity: (bytes) => bytes,
  gzip: (bytes) => gunzipSync(bytes),
  br: (bytes) => brotliDecompressSync(bytes),
  deflate: (bytes) => inflateSync(bytes),
};

export function parseJson(bytes: Buffer | undefined, encoding = "identity"): unknown {
  try {
    return JSON.parse(decoders[encoding]?.(bytes ?? Buffer.alloc(0)).toString("utf8") ?? "");
  } catch {
    return undefined;
  }
}

/** The records of an answer, in either envelope. */
const itemsOf = (body: Json): Json[] => {
  const { data } = body;
  return Array.isArray(data) ? data.filter(isRecord) : [isRecord(data) ? data : body];
};

/** Yields all secrets in a body: fields with secret-sounding names, header values, and variables marked as secret. */
function* secretsIn(value: unknown): Generator<string> {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value) && (value as Json)["secret"] === true) {
    const text = (value as Json)["value"];
    if (typeof text === "string") yield text;
  }
  for (const [name, inner] of Object.entries(value)) {
    if (typeof inner === "string" && (isSecretName(name) || name === "webhook_url")) yield inner;
    if (name === "headers" && isRecord(inner))
      for (const text of Object.values(inner)) if (typeof text === "string") yield text;
    yield* secretsIn(inner);
  }
}

export type Recorder = ReturnType<typeof createRecorder>;

/** Learns accounts from the answers that pass through. It tells accounts apart by hashes of the callers' keys. */
export function createRecorder() {
  const accounts = new Map<string, Account>();
  const secrets = new Set<string>();

  const accountOf = (caller: string): Account => {
    const hash = createHash("sha256").update(caller).digest("base64");
    const account = accounts.get(hash) ?? emptyAccount([hash]);
    accounts.set(hash, account);
    return account;
  };

  const hide = (body: unknown) => {
    for (const secret of secretsIn(body))
      if (secret.length >= minSecret && secret !== "[redacted]" && secrets.size < maxSecrets) secrets.add(secret);
  };

  const addWork = (works: Map<string, Work>, item: Json, at: number) => {
    const id = String(item["id"]);
    const before = works.get(id);
    const record = { ...before?.record, ...item };
    const changed = Date.parse(String(item["updated_at"]));
    const entered = { [String(item["status"])]: Number.isNaN(changed) ? at : changed, ...before?.entered };
    works.set(id, { record, entered, at });
  };

  const addItem = (account: Account, item: Json, { at, request }: Exchange) => {
    const { id, object, event, data, organization, user } = item;
    if (isRecord(organization)) account.organization.value = { ...account.organization.value, ...organization };
    if (isRecord(user)) addTo(account.users, user);
    if (event === "deployment.failed" && isRecord(data) && typeof data["reason"] === "string")
      account.reasons.set(String(data["deployment_id"]), data["reason"]);
    if (typeof id !== "string" || event !== undefined) return;
    const prefix = id.slice(0, id.indexOf("_"));
    if (object === "generation" || prefix === "gen") {
      const order = parseJson(request);
      const prompt = isRecord(order) && typeof order["prompt"] === "string" ? { prompt: order["prompt"] } : {};
      addWork(account.generations, { input: prompt, ...item }, at);
    } else if (prefix === "dep") addWork(account.deployments, item, at);
    else if (prefix === "org") account.organization.value = { ...account.organization.value, ...item };
    else if (Object.hasOwn(collections, prefix)) addTo(account[collections[prefix as keyof typeof collections]], item);
  };

  const addEnvironments = (account: Account, project: string, items: readonly Json[]) => {
    const environments = account.environments.get(project) ?? records();
    account.environments.set(project, environments);
    for (const item of items) if (typeof item["name"] === "string") environments.set(item["name"], item);
  };

  const remove = (account: Account, [collection, id = "", below, name = ""]: readonly string[]) => {
    if (below === "environments") return void account.environments.get(id)?.delete(name);
    if (below !== undefined) return;
    if (collection === "projects") account.environments.delete(id);
    if (collection === "projects" || collection === "users" || collection === "webhooks")
      account[collection].delete(id);
    if (collection === "integrations") account.integrations.delete(id);
  };

  return {
    accounts: () => [...accounts.values()],
    secrets: (): readonly string[] => [...secrets],

    /** Records an exchange. Returns false if the answer should have been JSON but was not. */
    observe(exchange: Exchange): boolean {
      const { method, path, caller, status, type = "", encoding, answer } = exchange;
      hide(parseJson(exchange.request));
      if (status === 204 || status === 304 || answer.length === 0 || type.startsWith("text/event-stream")) {
        if (status === 204 && method === "DELETE" && caller) remove(accountOf(caller), partsOf(path));
        return true;
      }
      const body = parseJson(answer, encoding);
      if (!isRecord(body)) return false;
      if (status > 299 || !caller) return true;
      hide(body);
      const account = accountOf(caller);
      const [collection, id = "", below, name] = partsOf(path);
      if (collection === "projects" && below === "environments" && (name === undefined || method === "PUT"))
        addEnvironments(account, id, itemsOf(body));
      else if (collection === "deployments" && below === "logs") {
        const errors = itemsOf(body).flatMap(({ level, message }) => (level === "error" ? [message] : []));
        // The reason precedes the line "Deployment failed".
        const reason = errors.findLast((message) => message !== "Deployment failed");
        if (typeof reason === "string") account.reasons.set(id, reason);
      } else for (const item of itemsOf(body)) addItem(account, item, exchange);
      return true;
    },
  };
}

const addTo = (records: Map<string, Json>, item: Json) => {
  const id = String(item["id"]);
  records.set(id, { ...records.get(id), ...item });
};

const partsOf = (path: string): string[] =>
  (parseUrl(path, "http://localhost")?.pathname ?? "")
    .split("/")
    .slice(1)
    .map((part) => {
      try {
        return decodeURIComponent(part);
      } catch {
        return part;
      }
    });

/** Merges two callers' views of the same work. The later view of its fields wins. */
function mergedWork(one: Work | undefined, other: Work): Work {
  if (!one) return other;
  const [before, after] = one.at <= other.at ? [one, other] : [other, one];
  const record = { ...before.record, ...after.record };
  return { record, entered: { ...after.entered, ...before.entered }, at: after.at };
}

/**
 * Merges the accounts of callers from the same organization: those with the same organization id, or with a record in
 * common.
 */
export function mergedAccounts(accounts: readonly Account[]): Account[] {
  let merged: Account[] = [];
  for (const account of accounts) {
    const id = account.organization.value["id"];
    const same = merged.filter(
      (one) =>
        (id !== undefined && one.organization.value["id"] === id) ||
        named.some((name) => [...account[name].keys()].some((key) => one[name].has(key))),
    );
    const into = emptyAccount([...same, account].flatMap(({ callers }) => callers));
    for (const one of [...same, account]) {
      into.organization.value = { ...into.organization.value, ...one.organization.value };
      for (const name of ["users", "projects", "webhooks", "integrations", "environments", "reasons"] as const)
        for (const [key, value] of one[name]) (into[name] as Map<string, unknown>).set(key, value);
      for (const name of ["deployments", "generations"] as const)
        for (const [id, work] of one[name]) into[name].set(id, mergedWork(into[name].get(id), work));
    }
    // The merged account takes the place of the first one.
    merged = merged.flatMap((one) => (one === same[0] ? [into] : same.includes(one) ? [] : [one]));
    if (same.length === 0) merged.push(into);
  }
  return merged;
}
