/** The public surface of svc-server, and nothing else. */

export type { Page, WithMeta } from "./client/answers.ts";
export type * from "./client/generated/records.ts";
export type { ErrorCode } from "./client/problem.ts";
export type { Client } from "./client/typed-client.ts";
export type { Service } from "./composition/service-facade.ts";
export type { Options } from "./config/generated/options.ts";
export { BadOptions } from "./config/parse-options.ts";
export { BadSeed, type Seed } from "./config/seed.ts";
export type {
  DeploymentDriver,
  DeploymentWork,
  LogLine,
  Progress,
} from "./drivers/deployment/contract.ts";
export { simulatedDeployments } from "./drivers/deployment/simulated.ts";
export type {
  GenerationDriver,
  GenerationWork,
  Progress as GenerationProgress,
} from "./drivers/generation/contract.ts";
export { type SimulatedGeneration, simulatedGenerations } from "./drivers/generation/simulated.ts";
export type { MailTransport, OutgoingMail } from "./drivers/mail/contract.ts";
export type { Sink } from "./drivers/outbound/function-transport.ts";
export type { SimulatedOutcome } from "./drivers/simulated-outcome.ts";
export type { Comparison } from "./emulator/control/state-calls.ts";
export type { ForkOptions } from "./emulator/fork-list.ts";
export type { NewFault, StoredFault } from "./emulator/instruments/faults.ts";
export type { Caught, InboxSettings, UnusedAnswers } from "./emulator/instruments/inbox.ts";
export type { InboxAnswer } from "./emulator/instruments/inbox-script.ts";
export type { JournalEntry, JournalQuery } from "./emulator/instruments/journal.ts";
export type { ReceivedDelivery } from "./emulator/instruments/received-deliveries.ts";
export type { Preview } from "./emulator/preview.ts";
export type { StoredSnapshot } from "./emulator/snapshot-list.ts";
export { verifySignature, verifyStandardWebhook } from "./features/deliveries/signature.ts";
export type { EventName, WebhookPayload } from "./features/events/catalog.ts";
export type * from "./features/events/generated/event-data.ts";
export type { SentMail } from "./features/mails/service.ts";
export type { NewScenario } from "./features/scenarios/schema.ts";
export type { Scenario } from "./features/scenarios/service.ts";
export type { Listening } from "./http/server.ts";
export type { Advanced } from "./jobs/clock-control.ts";
export type { Upcoming } from "./jobs/upcoming.ts";
export { Problem, type ProblemCode, problems } from "./kernel/errors.ts";
export type { Fields, Log } from "./kernel/log.ts";
export { createService } from "./service.ts";
export { DatabaseError } from "./store/database-error.ts";
export type { Violation } from "./store/invariants.ts";
export type { RecordChange } from "./store/sqlite/image-differences.ts";
