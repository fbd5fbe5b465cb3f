import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { createRandom } from "../../lib/kernel/random.ts";
import { bearer, jsonBearer } from "./headers.ts";
import { startBackend } from "./openai-backend.ts";
import { launch, temporaryFolder } from "./program.ts";
import { start as startReceiver } from "./webhook-receiver.ts";

const random = createRandom("canaries");
export const word = () => random.alphanumeric(24);

/** Every form in which a secret could appear: plain, in base64 at each of three offsets, and in hexadecimal. */
function formsOf(secret: string): string[] {
  const base64 = [0, 1, 2].map((shift) =>
    Buffer.from("x".repeat(shift) + secret)
      .toString("base64")
      .slice(shift === 0 ? 0 : 4, -4),
  );
  const hex = Buffer.from(secret).toString("hex");
  return [secret, ...base64, hex, hex.toUpperCase(), [...secret].join("\u0000")];
}

/** The names of the secrets that occur in some bytes. */
export const foundIn = (secrets: Readonly<Record<string, string>>, bytes: Buffer | string): string[] =>
  Object.entries(secrets).flatMap(([name, secret]) =>
    formsOf(secret).some((form) => bytes.includes(form)) ? [name] : [],
  );

/** A service with a secret in every field that accepts one, and a record of everything it returned. */
export async function worldOfSecrets(t: TestContext) {
  const folder = temporaryFolder(t);
  const secrets: Record<string, string> = {
    "the first key": `sk_live_${word()}`,
    "the secret of the code host's app": word(),
    "the key of a backend": word(),
    "the secret of a webhook": word(),
    "the secret of a custom integration": word(),
    "the path of a chat": word(),
    "the key of a monitoring provider": word(),
    "the secret of a code host": word(),
    "a secret variable": word(),
    "a key of a caller that does not exist": `sk_live_${word()}`,
  };
  const secretOf = (name: string) => secrets[name] ?? assert.fail(name);
  const echo = (request: { body: string; headers: object; path: string }) => JSON.stringify(request);
  const receiver = await startReceiver((request, response) => response.end(echo(request)));
  t.after(receiver.close);
  const backend = await startBackend(t, (response, { headers, path }) =>
    response.writeHead(400).end(JSON.stringify({ error: { message: JSON.stringify({ headers, path }) } })),
  );
  const backends = {
    mine: { type: "openai", url: `${backend.url}/v1`, key: secretOf("the key of a backend"), models: { painter: {} } },
  };
  // A separate folder, because this file contains the first key.
  const seeded = temporaryFolder(t);
  const ada = { name: "Ada", email: "ada@acme.test", role: "owner", keys: [{ key: secretOf("the first key") }] };
  const seed = { organizations: [{ name: "acme", plan: "pro", users: [ada] }] };
  writeFileSync(join(seeded, "seed.json"), JSON.stringify(seed));
  const server = await launch(
    t,
    ["dev", "--port", "0", "--database", "svc.db", "--log-level", "debug", "--clock", "manual"],
    folder,
    {
      env: {
        SVC_SEED: join(seeded, "seed.json"),
        SVC_CODE_HOST_SECRET: secretOf("the secret of the code host's app"),
        SVC_GENERATIONS_BACKENDS: JSON.stringify(backends),
      },
    },
  );
  /** Everything that was returned, by its place. */
  const shown = new Map<string, Buffer | string>();
  const ask = async (key: string | null, method: string, path: string, body?: unknown, headers = {}) => {
    const response = await fetch(server.url + path, {
      method,
      headers: { ...(body === undefined ? bearer(key) : jsonBearer(key)), ...headers },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    return { response, text: await response.text() };
  };
  /** A call whose entire answer must not contain secrets. */
  const call = async (method: string, path: string, body?: unknown, headers = {}, key = secretOf("the first key")) => {
    const { response, text } = await ask(key, method, path, body, headers);
    shown.set(`${shown.size}: the answer to ${method} ${path}`, `${JSON.stringify([...response.headers])} ${text}`);
    // biome-ignore lint/suspicious/noExplicitAny: a test may assert any field of a response
    const parsed: any = text.startsWith("{") ? JSON.parse(text) : {};
    return { status: response.status, body: parsed };
  };
  /** A call whose answer shows a secret by design. */
  const reveal = async (name: string, method: string, path: string, body: unknown, field: (body: never) => string) => {
    const { text } = await ask(secretOf("the first key"), method, path, body, { "idempotency-key": word() });
    secrets[name] = field(JSON.parse(text) as never);
    return secrets[name];
  };
  return { folder, secrets, secretOf, receiver, server, shown, call, reveal };
}

export type SecretsWorld = Awaited<ReturnType<typeof worldOfSecrets>>;
