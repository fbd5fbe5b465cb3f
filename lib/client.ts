import { type ClientOptions, createSender } from "./client/send.ts";
import { type Client, clientOver } from "./client/typed-client.ts";

export type * from "./client/answers.ts";
export type * from "./client/generated/inputs.ts";
export type * from "./client/generated/records.ts";
/** The typed client of svc-server. It needs only `fetch`, and runs in browsers and in Node. */
export { type BrokenRule, ClientProblem, type ErrorCode } from "./client/problem.ts";
export type { CallOptions, ClientOptions } from "./client/send.ts";
export { verifySignatureAsync } from "./client/signature.ts";
export type { Answer, Client, Input, OperationId, Result } from "./client/typed-client.ts";
export type { WaitOptions } from "./client/wait.ts";
export type { EventName, WebhookPayload } from "./features/events/catalog.ts";
export type * from "./features/events/generated/event-data.ts";

/**
 * Creates a client. Calls reject with {ClientProblem}. Every POST carries an idempotency key, so retries never repeat
 * its effect.
 *
 * @throws {TypeError} for an invalid `baseUrl` or `apiKey`.
 */
export const createClient = (options: ClientOptions): Client => clientOver(createSender(options));
