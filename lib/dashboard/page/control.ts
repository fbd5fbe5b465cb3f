import type { Comparison } from "../../emulator/control/state-calls.ts";
import type { ForkOptions, ListeningFork } from "../../emulator/fork-list.ts";
import type { DeliveryOrder } from "../../emulator/instruments/delivery-orders.ts";
import type { StoredFault } from "../../emulator/instruments/faults.ts";
import type { Caught, InboxSettings } from "../../emulator/instruments/inbox.ts";
import type { InboxAnswer } from "../../emulator/instruments/inbox-script.ts";
import type { JournalEntry } from "../../emulator/instruments/journal.ts";
import type { Preview } from "../../emulator/preview.ts";
import type { StoredSnapshot } from "../../emulator/snapshot-list.ts";
import type { SentMail } from "../../features/mails/service.ts";
import type { Scenario } from "../../features/scenarios/service.ts";
import { request } from "./api.ts";

export type {
  Caught,
  Comparison,
  DeliveryOrder,
  InboxAnswer,
  InboxSettings,
  JournalEntry,
  ListeningFork,
  Preview,
  Scenario,
  SentMail,
  StoredFault,
  StoredSnapshot,
};

const send = async <T>(method: string, path: string, body?: object) =>
  (await request(method, `/_svc/${path}`, body)) as T;
const list = async <T>(method: string, path: string) => (await send<{ data: T[] }>(method, path)).data;
const part = encodeURIComponent;

/** The control interface of `dev`, called as programs call it. */
export const control = {
  inbox: () => list<Caught>("GET", "inbox"),
  inboxes: () => list<InboxSettings>("GET", "inboxes"),
  clearInbox: () => list<Caught>("DELETE", "inbox"),
  configureInbox: (name: string, given: { responses: unknown } | { forward: string | null }) =>
    send("PUT", `inbox/${part(name)}`, given),
  everyOrder: async (deliveries: readonly string[], muted: boolean) =>
    (await send<{ data: DeliveryOrder[] }>("POST", "deliveries/orders", { deliveries, muted })).data,
  mails: () => list<SentMail>("GET", "mail"),
  clearMails: () => list<SentMail>("DELETE", "mail"),
  accept: (token: string, name: string) =>
    send<{ email: string; api_key: string }>("POST", "invitations/accept", { token, name }),
  scenarios: () => list<Scenario>("GET", "scenarios"),
  addScenario: (given: unknown) => send<Scenario>("POST", "scenarios", given as object),
  removeScenario: (id: string) => send("DELETE", `scenarios/${part(id)}`),
  clearScenarios: () => send("DELETE", "scenarios"),
  faults: () => list<StoredFault>("GET", "faults"),
  addFault: (given: unknown) => send<StoredFault>("POST", "faults", given as object),
  removeFault: (id: string) => send("DELETE", `faults/${part(id)}`),
  clearFaults: () => send("DELETE", "faults"),
  step: (family: "deployments" | "generations", id: string) => send("POST", `${family}/${part(id)}/step`),
  journal: (since = 0) => list<JournalEntry>("GET", `journal?since=${since}`),
  journalSince: (at: string) => list<JournalEntry>("GET", `journal?since=${part(at)}`),
  requestsSince: (at: string) =>
    list<Extract<JournalEntry, { kind: "request" }>>("GET", `journal?kind=request&since=${part(at)}`),
  preview: (target: { by: string } | { to: string }) => send<Preview>("POST", "preview", target),
  snapshots: () => list<StoredSnapshot>("GET", "snapshots"),
  snapshot: (name: string) => send<{ id: string }>("POST", "snapshots", name === "" ? {} : { name }),
  restore: (id: string) => send("POST", `snapshots/${part(id)}/restore`),
  removeSnapshot: (id: string) => send("DELETE", `snapshots/${part(id)}`),
  reset: () => send("POST", "reset"),
  compare: (from: string, to: string) =>
    send<Comparison>("GET", `compare?from=${part(from)}${to === "" ? "" : `&to=${part(to)}`}`),
  forks: () => list<ListeningFork>("GET", "forks"),
  fork: (given: ForkOptions) => send<ListeningFork>("POST", "forks", given),
  removeFork: (id: string) => send("DELETE", `forks/${part(id)}`),
};
