import assert from "node:assert/strict";
import { test } from "node:test";
import { ClientProblem } from "../../lib/client.ts";

test("a problem of the other copy of the class, CommonJS or ES modules, is a ClientProblem too", () => {
  class Copy extends Error {
    get [Symbol.for("svc-server.ClientProblem")](): true {
      return true;
    }
  }
  class Narrower extends ClientProblem {}
  const own = new ClientProblem("timed_out", "no answer");
  assert.ok(own instanceof ClientProblem && new Narrower("x", "y") instanceof ClientProblem);
  assert.ok(new Copy() instanceof ClientProblem && new Narrower("x", "y") instanceof Narrower);
  for (const other of [new Error("x"), null, undefined, "x"]) assert.ok(!((other as unknown) instanceof ClientProblem));
  assert.ok(!(own instanceof Narrower));
  assert.deepEqual(Object.keys(own), ["name", "code", "status", "details", "requestId", "retryAfter"]);
});
