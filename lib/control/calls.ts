import * as v from "valibot";
import { deployment } from "../deployments/schema.ts";
import type { DeploymentsService } from "../deployments/service.ts";
import type { Outbox } from "../endpoints/outbox.ts";
import { generation } from "../generations/schema.ts";
import type { GenerationsService } from "../generations/service.ts";
import type { DeliveryOrder, EveryOrder } from "../instruments/delivery-orders.ts";
import { type Faults, newFault } from "../instruments/faults.ts";
import type { Inbox } from "../instruments/inbox.ts";
import { answers, forwardTo } from "../instruments/inbox-script.ts";
import { type Journal, journalQuery } from "../instruments/journal.ts";
import { acceptance, member } from "../invitations/schema.ts";
import type { InvitationsService } from "../invitations/service.ts";
import { shaper } from "../kernel/result-shape.ts";
import { record, text } from "../kernel/validation.ts";
import type { MailsService } from "../mails/service.ts";
import { newScenario } from "../scenarios/schema.ts";
import type { ScenariosService } from "../scenarios/service.ts";
import { type Call, call } from "./call.ts";
import { type StatePorts, stateCalls } from "./state-calls.ts";
import { eitherOf, type TimePorts, timeCalls } from "./time-calls.ts";

export interface CallsPorts extends TimePorts, StatePorts {
  readonly mails: MailsService;
  readonly invitations: InvitationsService;
  readonly inbox: Inbox;
  readonly outbox: Outbox;
  readonly deliverInEveryOrder: (of: EveryOrder) => Promise<DeliveryOrder[]>;
  readonly scenarios: ScenariosService;
  readonly faults: Faults;
  readonly journal: Journal;
  readonly deployments: DeploymentsService;
  readonly generations: GenerationsService;
}

const asMember = shaper(member);
const asDeployment = shaper(deployment);
const asGeneration = shaper(generation);

/** Every call of `/_svc`, in the order of CONTRACT section 8. */
export const callsOf = (ports: CallsPorts): readonly Call[] => [
  ...timeCalls(ports),
  ...stateCalls(ports),
  ...receiverCalls(ports),
  ...mailCalls(ports),
  ...workCalls(ports),
  ...faultCalls(ports),
  ...journalCalls(ports),
];

/** Five deliveries have 120 orders, and each is a fork. */
const maxOrdered = 5;
const ordered = record({
  deliveries: v.pipe(
    v.array(text(), "must be a list"),
    v.minLength(2, "must have at least 2"),
    v.maxLength(maxOrdered, `must have at most ${maxOrdered}`),
  ),
  muted: v.optional(v.boolean("must be true or false")),
});

/** Deliveries, and the inbox that receives them. */
const receiverCalls = ({ inbox, outbox, deliverInEveryOrder }: CallsPorts): Call[] => [
  call({
    method: "GET",
    path: "inbox",
    query: record({ endpoint: v.optional(v.string("must be given once")) }),
    run: ({ query }) => inbox.list(query.endpoint),
  }),
  call({
    method: "DELETE",
    path: "inbox",
    run() {
      inbox.clear();
      return inbox.list();
    },
  }),
  call({ method: "GET", path: "inboxes", run: inbox.settings }),
  call({
    method: "PUT",
    path: "inbox/{name}",
    body: record({ responses: v.optional(answers), forward: v.optional(forwardTo) }),
    run({ params: { name = "" }, body: { responses, forward } }) {
      const endpoint = name.toLowerCase();
      if (responses !== undefined && forward === undefined) {
        inbox.script(name, responses);
        return { endpoint, responses };
      }
      if (forward === undefined || responses !== undefined) throw eitherOf(["responses", "forward"]);
      inbox.forward(name, forward);
      return { endpoint, forward };
    },
  }),
  call({
    method: "POST",
    path: "deliveries",
    body: record({
      deliveries: v.pipe(v.array(text(), "must be a list"), v.maxLength(1000, "must have at most 1000")),
    }),
    async run({ body: { deliveries } }) {
      await outbox.deliver(deliveries);
      return { deliveries };
    },
  }),
  call({ method: "POST", path: "deliveries/orders", body: ordered, run: ({ body }) => deliverInEveryOrder(body) }),
];

/** Mails, and the invitations in them. */
const mailCalls = ({ mails, invitations }: CallsPorts): Call[] => [
  call({ method: "GET", path: "mail", run: () => mails.all() }),
  call({
    method: "POST",
    path: "invitations/accept",
    body: acceptance,
    run: async ({ body }) => asMember(await invitations.accept(body)),
  }),
];

/** The outcome of simulated work, and its pace. */
const workCalls = ({ scenarios, deployments, generations }: CallsPorts): Call[] => [
  call({ method: "GET", path: "scenarios", run: () => scenarios.list() }),
  call({ method: "POST", path: "scenarios", body: newScenario, run: ({ body }) => scenarios.add(body) }),
  call({
    method: "DELETE",
    path: "scenarios",
    async run() {
      await scenarios.clear();
      return [];
    },
  }),
  call({
    method: "DELETE",
    path: "scenarios/{id}",
    async run({ params: { id = "" } }) {
      await scenarios.remove(id);
      return scenarios.list();
    },
  }),
  call({
    method: "POST",
    path: "deployments/{id}/step",
    run: async ({ params: { id = "" } }) => asDeployment(await deployments.step(id)),
  }),
  call({
    method: "POST",
    path: "generations/{id}/step",
    run: async ({ params: { id = "" } }) => asGeneration(await generations.step(id)),
  }),
];

/** The journal. */
const journalCalls = ({ journal }: CallsPorts): Call[] => [
  call({ method: "GET", path: "journal", query: journalQuery, run: ({ query }) => journal.list(query) }),
];

/** Faults of the interface itself. */
const faultCalls = ({ faults }: CallsPorts): Call[] => [
  call({ method: "GET", path: "faults", run: () => faults.list() }),
  call({ method: "POST", path: "faults", body: newFault, run: ({ body }) => faults.add(body) }),
  call({
    method: "DELETE",
    path: "faults",
    run() {
      faults.clear();
      return [];
    },
  }),
  call({
    method: "DELETE",
    path: "faults/{id}",
    run({ params: { id = "" } }) {
      faults.remove(id);
      return faults.list();
    },
  }),
];
