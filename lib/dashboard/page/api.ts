import { signal } from "@preact/signals";
import { ClientProblem, incomplete, problemOf } from "../../client/problem.ts";
import type { Request as ApiRequest, Sender } from "../../client/send.ts";
import { clientOver } from "../../client/typed-client.ts";
import type { SignInMethods } from "../dashboard-routes.ts";
import type { Person } from "../people.ts";
import type { Moment } from "../process-history.ts";
import { note } from "./calls.ts";
import { callOf } from "./recorded-call.ts";
import { base } from "./router.ts";

/** The acting person: the person of the session in `start`, the chosen person in `dev`. */
export interface Session {
  readonly mode: "dev" | "start";
  readonly organization: string;
  readonly plan: "starter" | "pro" | "enterprise";
  readonly user_id: string;
  readonly name: string;
  readonly email: string;
  readonly role: "owner" | "admin" | "developer" | "viewer";
  readonly scopes: readonly string[];
  /** Whether this server accepts git pushes. */
  readonly hosts_repositories: boolean;
  /** The service's time when it started. */
  readonly started_at: string;
  /** What that start found wrong with the clock; null if nothing. */
  readonly clock_warning: string | null;
}

/** Null while signed out; undefined until the first response. */
export const session = signal<Session | null | undefined>(undefined);

const storedPerson = "svc-person";
/** The person that a tester chose in `dev`; separate for each tab. */
export const person = signal<string | null>(sessionStorage.getItem(storedPerson));

export function actAs(name: string): void {
  sessionStorage.setItem(storedPerson, name);
  person.value = name;
}

const storedIds = "svc-ids";
/**
 * The page makes its own request ids, so that watching it does not advance the service's sequence of ids. Each load of
 * this tab has a start of its own.
 */
const ownIds = `dashboard-${crypto.randomUUID().slice(0, 8)}-`;
const allOwnIds: readonly string[] = [...JSON.parse(sessionStorage.getItem(storedIds) ?? "[]"), ownIds].slice(-20);
sessionStorage.setItem(storedIds, JSON.stringify(allOwnIds));
export const isOwnRequest = (id: string | null): boolean => allOwnIds.some((one) => id?.startsWith(one));

/** The changes that are still being answered. */
const changing = new Set<Promise<unknown>>();
export const changesEnded = async (): Promise<void> => void (await Promise.allSettled(changing));

/**
 * Sends a request to the service that served the page, and records it for the drawer. Rejects with {ClientProblem}. A
 * mark becomes part of its request id.
 */
export function request(
  method: string,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
  mark = "",
): Promise<unknown> {
  const answered = send(method, path, body, signal, mark);
  if (method === "GET") return answered;
  changing.add(answered);
  return answered.finally(() => changing.delete(answered));
}

async function send(method: string, path: string, body: unknown, signal: AbortSignal | undefined, mark: string) {
  const { response, answer } = await exchange(method, path, body, signal, mark);
  const problem = response.ok ? undefined : problemOf(response, answer);
  const call = callOf(method, path, body);
  if (call) note({ call, answer, problem: problem?.code }, signal);
  if (!problem) return answer;
  if (response.status === 401 && session.value) end();
  throw problem;
}

/**
 * Called when the session has ended. The sign-in form replaces the screen at once, and the page reloads, so that no
 * signal, cache, socket or history keeps data.
 */
function end(): void {
  session.value = null;
  sessionStorage.clear();
  location.reload();
}

async function exchange(method: string, path: string, body: unknown, signal: AbortSignal | undefined, mark: string) {
  let response: Response;
  try {
    response = await fetch(base + path, {
      method,
      redirect: "error",
      ...(signal && { signal }),
      headers: {
        accept: "application/json",
        "x-request-id": `${ownIds}${mark}${crypto.randomUUID()}`,
        ...(person.value !== null && { "x-svc-person": person.value }),
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  } catch (cause) {
    signal?.throwIfAborted();
    throw new ClientProblem("unreachable", "The service cannot be reached. Is it running?", { cause });
  }
  try {
    const text = await response.text();
    return { response, answer: text === "" ? undefined : (JSON.parse(text) as unknown) };
  } catch (cause) {
    signal?.throwIfAborted();
    if (response.ok) throw incomplete(response, cause);
    return { response, answer: undefined };
  }
}

const sender: Sender = {
  send: () => Promise.reject(new TypeError("the dashboard takes no streams")),
  sleep: () => Promise.reject(new TypeError("the dashboard waits for nothing")),
  call: ({ method, path, body }: ApiRequest, options) =>
    request(method, `/dashboard/api${path}`, body, options?.signal),
};

/** Every operation of `/v1`, called as this person. */
export const api = clientOver(sender);

/** A list; an empty one if the acting person may not read it. */
export const orNone = <T>(list: Promise<{ readonly data: readonly T[] }>) =>
  list.catch((error): { readonly data: readonly T[] } => {
    if (error instanceof ClientProblem && error.status === 403) return { data: [] };
    throw error;
  });

export async function loadSession(): Promise<void> {
  try {
    session.value = (await request("GET", "/dashboard/session")) as Session;
  } catch (error) {
    if (!(error instanceof ClientProblem)) throw error;
    // A restore replaced the state that had this person.
    if (error.status === 401 && person.value !== null) {
      sessionStorage.removeItem(storedPerson);
      person.value = null;
      await loadSession();
    } else if (error.status === 401) session.value = null;
    else throw error;
  }
}

export const readSignInMethods = async () => (await request("GET", "/dashboard/session/ways")) as SignInMethods;

export async function signIn(key: string): Promise<void> {
  await request("POST", "/dashboard/session", { key });
  await loadSession();
}

export async function signOut(): Promise<void> {
  await request("DELETE", "/dashboard/session");
  end();
}

export const people = async () => ((await request("GET", "/dashboard/session/people")) as { data: Person[] }).data;

/** The last hour, oldest first. */
export const readMetrics = async (signal: AbortSignal) =>
  ((await request("GET", "/dashboard/session/metrics", undefined, signal)) as { data: Moment[] }).data;

/** An error as a sentence for the user: the broken rules, if it has some. */
export function sentenceOf(error: unknown, rules = error instanceof ClientProblem ? error.details : []): string {
  if (!(error instanceof ClientProblem)) return error instanceof Error ? error.message : String(error);
  const text = (rules.map(({ path, message }) => `${path} ${message}`).join("; ") || error.message).replace(
    /(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\d\.\d{3}Z/g,
    "$1 $2 UTC",
  );
  const isWord = /^[a-z]+\b(?![@.])/.test(text);
  return `${isWord ? text.charAt(0).toUpperCase() : text.charAt(0)}${text.slice(1)}.`.replace(/([.?!])\.$/, "$1");
}
