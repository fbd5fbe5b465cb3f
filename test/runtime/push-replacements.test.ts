import assert from "node:assert/strict";
import { test } from "node:test";
import { gitHost } from "../helpers/git-host.ts";
import { expect } from "../helpers/test-service.ts";

test("a pushed replacement of a commit by itself stops no later push", async (t) => {
  const here = await gitHost(t);
  const first = here.repos.commit("me/hello", { "index.html": "one" });
  assert.equal((await here.push("me/hello", "owner")).code, 0);
  const replaced = await here.push("me/hello", "owner", `${first}:refs/replace/${first}`);
  assert.equal(replaced.code, 0, replaced.text);
  here.repos.commit("me/hello", { "index.html": "two" });
  const { code, text } = await here.push("me/hello", "owner");
  assert.equal(code, 0, text);
  assert.equal(await here.ask("production-hello.localhost"), "200 two");
});

test("a key that may only fetch learns nothing for a push by naming both services", async (t) => {
  const here = await gitHost(t);
  here.repos.commit("me/hello", { "index.html": "one" });
  assert.equal((await here.push("me/hello", "owner")).code, 0);
  const { key } = expect(
    await here.call("owner", "POST", "/v1/api-keys", { name: "reader", scopes: ["deployments:read"] }),
    201,
  );
  const ask = async (query: string) => {
    const answer = await fetch(`http://127.0.0.1:${here.port}/git/me/hello.git/info/refs?${query}`, {
      headers: { authorization: `Basic ${btoa(`me:${key}`)}` },
    });
    return [answer.status, (await answer.text()).includes("git-receive-pack")];
  };
  const [fetching, pushing] = ["service=git-upload-pack", "service=git-receive-pack"];
  assert.deepEqual(await ask(pushing), [403, false]);
  assert.deepEqual(await ask(`${fetching}&${pushing}`), [200, false]);
});
