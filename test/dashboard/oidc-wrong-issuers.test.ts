import assert from "node:assert/strict";
import { test } from "node:test";
import { visitor } from "../helpers/issuer.ts";
import { signingIn } from "../helpers/signing-in.ts";

const json = { "content-type": "application/json" };

test("of what an issuer writes, the log and the page have one short line", async (t) => {
  const logged: string[] = [];
  const note = (...entry: unknown[]) => void logged.push(JSON.stringify(entry));
  const logger = { error: note, warn: note, info: note, debug: note };
  const { at, start } = await signingIn(t, { options: { logger } });
  at.accounts.set("long", { email: `${"x".repeat(100_000)}@acme.test` });
  /** The page and the log entries of a sign-in in which the issuer refuses the code with this answer. */
  const refusedWith = async (login: string, answer?: object) => {
    at.replace((request, response) => {
      if (answer && request.url === "/token") response.writeHead(400, json).end(JSON.stringify(answer));
      else at.pass(request, response);
    });
    const person = visitor();
    const callback = await person.signIn(start, login);
    logged.length = 0;
    return { page: await person.send(callback), log: logged.join("\n") };
  };
  const huge = "x".repeat(300_000);
  const hostile = await refusedWith("dora", {
    error: `\u001b[31m\u202e\n${huge}`,
    message: huge,
    cause: { error: huge },
  });
  assert.equal(hostile.page.status, 502, hostile.page.text);
  assert.match(hostile.log, /a sign-in with OpenID Connect was refused.*error in the response body; \[31m x+…"/);
  assert.ok(hostile.log.length < 1000, `${hostile.log.length}`);
  const ordinary = await refusedWith("dora", { error: "server_error" });
  assert.match(ordinary.log, /error in the response body; server_error"/);
  const used = await refusedWith("dora", { error: "invalid_grant" });
  assert.deepEqual([used.page.status, /no longer accepts this code/.test(used.page.text)], [403, true]);
  const long = await refusedWith("long");
  assert.equal(long.page.status, 403);
  assert.match(long.page.text, /no user with the address x{200}…\. Ask an owner/);
  assert.ok(long.page.text.length < 3000, `${long.page.text.length}`);
});

test("an issuer that described itself wrongly signs people in again as soon as it is correct", async (t) => {
  const wrong: readonly [status: number, wrong: object][] = [
    [502, { authorization_endpoint: "javascript:alert(1)" }],
    [502, { authorization_endpoint: undefined }],
    [502, { token_endpoint: "javascript:alert(1)" }],
    [503, { token_endpoint: "http://127.0.0.1:1/token" }],
    [502, { jwks_uri: "nothing" }],
    [502, { id_token_signing_alg_values_supported: ["ES256"] }],
  ];
  for (const [status, more] of wrong) {
    const { at, start } = await signingIn(t);
    const place = "/.well-known/openid-configuration";
    const right = (await (await fetch(at.issuer + place)).json()) as object;
    at.replace((request, response) => {
      if (request.url === place) response.writeHead(200, json).end(JSON.stringify({ ...right, ...more }));
      else at.pass(request, response);
    });
    const dora = visitor();
    const began = "authorization_endpoint" in more ? start : await dora.signIn(start, "dora");
    const refused = await dora.send(began);
    assert.equal(refused.status, status, `${JSON.stringify(more)} ${refused.text}`);
    at.replace(undefined);
    const back = await dora.send(await dora.signIn(start, "dora"));
    assert.equal(back.status, 303, `${JSON.stringify(more)} ${back.text}`);
  }
});
