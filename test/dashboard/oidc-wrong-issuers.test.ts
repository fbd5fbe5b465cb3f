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
