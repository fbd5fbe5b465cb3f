import * as v from "valibot";
import type { Outbox } from "../../features/deliveries/outbox.ts";
import { deployment } from "../../features/deployments/schema.ts";
import type { DeploymentsService } from "../../features/deployments/service.ts";
import { generation } from "../../features/generations/schema.ts";
import type { GenerationsService } from "../../features/generations/service.ts";
import { acceptance, member } from "../../features/invitations/schema.ts";
import type { InvitationsService } from "../../features/invitations/service.ts";
import type { MailsService } from "../../features/mails/service.ts";
import { newScenario } from "../../features/scenarios/schema.ts";
import type { ScenariosService } from "../../features/scenarios/service.ts";
import type { RequestContext } from "../../http/request-context.ts";
import type { Caller } from "../../kernel/operation.ts";
import { writerOf } from "../../kernel/result-text.ts";
import { listOf } from "../../kernel/size-limits.ts";
import { record, type Schema, text } from "../../kernel/validation.ts";
import type { DeliveryOrder, EveryOrder } from "../instruments/delivery-orders.ts";
import { type Faults, newFault } from "../instruments/faults.ts";
import type { Inbox } from "../instruments/inbox.ts";
import { answers, forwardTo } from "../instruments/inbox-script.ts";
import { type Journal, journalQuery } from "../instruments/journal.ts";
import { type Answer, type ControlCall, callsWith } from "./call.ts";
import { type StatePorts, stateCalls } from "./state-calls.ts";
import { eitherOf, type TimePorts, timeCalls } from "./time-calls.ts";

export interface CallsPorts extends TimePorts, StatePorts {
  readonly mails: MailsService;
  readonly invitations: InvitationsService;
  /** The caller without a key who accepts an invitation, with the entry of the audit log. */
  readonly accepting: (request: RequestContext) => Caller;
  readonly inbox: Inbox;
  readonly outbox: Outbox;
  readonly deliverInEveryOrder: (of: EveryOrder) => Promise<DeliveryOrder[]>;
  readonly scenarios: ScenariosService;
  readonly faults: Faults;
  readonly journal: Journal;
  readonly deployments: DeploymentsService;
  readonly generations: GenerationsService;
}

/** Formats a record as the operations of `/v1` do. */
const shown = (schema: Schema) => {
  const write = writerOf(schema);
  return (record: object): object => JSON.parse(write(record));
};
const asMember = shown(member);
const asDeployment = shown(deployment);
const asGeneration = shown(generation);

/** Each order of the deliveries is tried in its own fork; five deliveries have 120 orders. */
const maxOrdered = 5;
const ordered = record({
  deliveries: v.pipe(listOf(text(), maxOrdered), v.minLength(2, "must have at least 2")),
  muted: v.optional(v.boolean("must be true or false")),
});

const call = callsWith<CallsPorts>();

/** The inbox that caught a delivery. */
const caughtAt = v.pipe(
  v.string("must be given once"),
  v.regex(/^[^\s/?#@\\^|<>%]{1,253}$/, "must be the name of an inbox or a host, such as shop or example.com"),
);

const receiverCalls = [
  call({
    id: "inbox.list",
    summary: "List the deliveries that the inbox caught, oldest first",
    description: "It keeps the last thousand.",
    method: "GET",
    path: "inbox",
    query: record({ endpoint: v.optional(caughtAt) }),
    run: ({ query }, { inbox }) => inbox.list(query.endpoint),
  }),
  call({
    id: "inbox.clear",
    summary: "Remove the deliveries from the inbox",
    description: "The answers that are set for the next deliveries stay.",
    method: "DELETE",
    path: "inbox",
    run(_, { inbox }) {
      inbox.clear();
      return inbox.list();
    },
  }),
  call({
    id: "inbox.settings",
    summary: "List what each inbox answers next, and where it forwards to",
    method: "GET",
    path: "inboxes",
    run: (_, { inbox }) => inbox.settings(),
  }),
  call({
    id: "inbox.set",
    summary: "Set the next answers of https://NAME.inbox.test",
    description:
      "Or set the receiver on this machine that it forwards to, with forward=http://localhost:3000/hooks; null ends that.",
    example: { responses: [500, 500, 200] },
    method: "PUT",
    path: "inbox/{name}",
    body: record({ responses: v.optional(answers), forward: v.optional(forwardTo) }),
    run({ params: { name = "" }, body: { responses, forward } }, { inbox }) {
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
      deliveries: listOf(text(), 1000),
    }),
    async run({ body: { deliveries } }, { outbox }) {
      await outbox.deliver(deliveries);
      return { deliveries };
    },
  }),
  call({
    method: "POST",
    path: "deliveries/orders",
    body: ordered,
    run: ({ body }, { deliverInEveryOrder }) => deliverInEveryOrder(body),
  }),
];

const mailCalls = [
  call({
    id: "mail.list",
    summary: "List the mails of the emulator, with the links and tokens in them",
    method: "GET",
    path: "mail",
    run: (_, { mails }) => mails.all(),
  }),
  call({
    method: "DELETE",
    path: "mail",
    async run(_, { mails }) {
      await mails.clear();
      return mails.all();
    },
  }),
  call({
    method: "POST",
    path: "invitations/accept",
    body: acceptance,
    run: async ({ body, request }, { invitations, accepting }) =>
      asMember(await invitations.accept(accepting(request), body)),
  }),
];

/** A list that a tester manages. The first matching record applies. */
interface Listed<Given> {
  list(): Answer;
  add(given: Given): Answer;
  remove(id: string): unknown;
  clear(): unknown;
}

function listCalls<S extends Schema>(
  path: "scenarios" | "faults",
  of: (ports: CallsPorts) => Listed<v.InferOutput<S>>,
  add: Pick<ControlCall<CallsPorts>, "summary" | "description" | "example"> & { readonly body: S },
): ControlCall<CallsPorts>[] {
  return [
    call({
      id: `${path}.list`,
      summary: `List the ${path} in their order, and how often each was used`,
      method: "GET",
      path,
      run: (_, ports) => of(ports).list(),
    }),
    call({ id: `${path}.add`, ...add, method: "POST", path, run: ({ body }, ports) => of(ports).add(body) }),
    call({
      id: `${path}.clear`,
      summary: `Remove all ${path}`,
      method: "DELETE",
      path,
      async run(_, ports) {
        await of(ports).clear();
        return [];
      },
    }),
    call({
      id: `${path}.remove`,
      summary: `Remove a ${path.slice(0, -1)}, and list the others`,
      method: "DELETE",
      path: `${path}/{id}`,
      async run({ params: { id = "" } }, ports) {
        await of(ports).remove(id);
        return of(ports).list();
      },
    }),
  ];
}

const workCalls = [
  ...listCalls("scenarios", ({ scenarios }) => scenarios, {
    summary: "Add a scenario: the outcome of simulated work",
    description: "It applies to work that matches, or to the next work of a kind.",
    example: { match: { branch: "main" }, outcome: { result: "fail", message: "npm ERR!" }, times: 1 },
    body: newScenario,
  }),
  call({
    method: "POST",
    path: "deployments/{id}/step",
    run: async ({ params: { id = "" } }, { deployments }) => asDeployment(await deployments.step(id)),
  }),
  call({
    method: "POST",
    path: "generations/{id}/step",
    run: async ({ params: { id = "" } }, { generations }) => asGeneration(await generations.step(id)),
  }),
];

const journalCalls = [
  call({ method: "GET", path: "journal", query: journalQuery, run: ({ query }, { journal }) => journal.list(query) }),
];

/** Faults of the API: errors, delays and broken connections. */
const faultCalls = listCalls("faults", ({ faults }) => faults, {
  summary: "Add a fault: an error, a delay or a broken connection",
  description: "Matching calls get it instead of their usual answer.",
  example: { match: { method: "POST", path: "/v1/projects" }, respond: { status: 503 }, times: 2 },
  body: newFault,
});

/** Every call of `/_svc`, in the order of schema/testing.md#control-interface. */
export const controlCalls: readonly ControlCall<CallsPorts>[] = [
  ...timeCalls,
  ...stateCalls,
  ...receiverCalls,
  ...mailCalls,
  ...workCalls,
  ...faultCalls,
  ...journalCalls,
];
