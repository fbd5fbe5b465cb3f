import { type ClientOptions, createSender } from "./client/send.ts";
import { type Client, clientOver } from "./client/typed-client.ts";

/** The typed client of svc-server: fetch alone, in browsers as in Node. */
export { type BrokenRule, ClientProblem } from "./client/problem.ts";
export type { CallOptions, ClientOptions } from "./client/send.ts";
export { verifySignature } from "./client/signature.ts";
export type { Answer, Client, Input, Meta, OperationId, Page, Result } from "./client/typed-client.ts";
export type { WaitOptions } from "./client/wait.ts";

/**
 * Makes a client. Calls throw {ClientProblem}; a POST carries an idempotency key of its own, so that trying again does
 * nothing twice.
 *
 * @throws {TypeError} where `baseUrl` or `apiKey` cannot be right.
 */
export const createClient = (options: ClientOptions): Client => clientOver(createSender(options));
