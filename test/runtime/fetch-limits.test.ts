import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { gunzipSync, gzipSync } from "node:zlib";
import { gitHost } from "../helpers/git-host.ts";
import { app } from "../helpers/running-apps.ts";
import { keyOf } from "../helpers/test-service.ts";

const packet = (text: string) => (text.length + 4).toString(16).padStart(4, "0") + text;

test("a fetch is refused beyond 8 MiB, also when a small compressed body holds more", async (t) => {
  const here = await gitHost(t);
  const commit = here.repos.commit("me/hello", app("one"));
  assert.equal((await here.push("me/hello", "owner")).code, 0);
  const fetched = async (body: Buffer, encoding: string) => {
    const answer = await fetch(`http://127.0.0.1:${here.port}/git/me/hello.git/git-upload-pack`, {
      method: "POST",
      headers: {
        authorization: `Basic ${btoa(`me:${keyOf("viewer")}`)}`,
        "content-type": "application/x-git-upload-pack-request",
        ...(encoding !== "" && { "content-encoding": encoding }),
      },
      body,
    });
    return { status: answer.status, text: await answer.text() };
  };
  const request = (wants: number) =>
    Buffer.from(`${packet(`want ${commit}\n`).repeat(wants)}0000${packet("done\n")}`, "latin1");
  const small = request(3);
  for (const [body, encoding] of [
    [small, ""],
    [gzipSync(small), "gzip"],
    [gzipSync(small), "x-gzip"],
  ] as const) {
    const { status, text } = await fetched(body, encoding);
    assert.deepEqual([status, text.slice(0, 12)], [200, "0008NAK\nPACK"], encoding);
  }
  const large = request(200_000);
  const bomb = gzipSync(large);
  assert.ok(bomb.length < 100_000 && gunzipSync(bomb).length > 9_000_000);
  const refusal = { status: 413, text: "a fetch may send at most 8 MiB, decompressed\n" };
  for (const [body, encoding] of [
    [bomb, "gzip"],
    [large, ""],
  ] as const)
    assert.deepEqual(await fetched(body, encoding), refusal, encoding);
  assert.deepEqual(await fetched(small, "gzip"), {
    status: 415,
    text: "the body must be gzip, which its Content-Encoding names, or have no encoding\n",
  });
  assert.equal((await fetched(small, "")).status, 200);
});

test("a fetch of a repository with 10,000 commits that the service lacks succeeds", async (t) => {
  const here = await gitHost(t);
  const commit = here.repos.commit("me/hello", app("one"));
  assert.equal((await here.push("me/hello", "owner")).code, 0);
  here.repos.commit("me/long", app("two"));
  const commits = Array.from(
    { length: 10_000 },
    (_, i) => `commit refs/heads/long\ncommitter t <t@acme.test> ${1_700_000_000 + i} +0000\ndata 0\n\n`,
  );
  execFileSync("git", ["fast-import", "--quiet"], { cwd: join(here.repos.root, "me/long"), input: commits.join("") });
  for (const protocol of ["0", "2"]) {
    const url = here.urlOf("me/hello", keyOf("viewer"));
    const args = ["-c", `protocol.version=${protocol}`, "fetch", url, `main:from-${protocol}`];
    const { code, text } = await here.run("me/long", args, { GIT_TRACE_PACKET: "1" });
    assert.equal(code, 0, text.slice(-2000));
    assert.ok(text.split("> have ").length > 10_000, protocol);
    assert.equal(here.repos.git("me/long", "rev-parse", `from-${protocol}`), commit);
    here.repos.git("me/long", "branch", "--quiet", "--delete", "--force", `from-${protocol}`);
    here.repos.git("me/long", "gc", "--quiet", "--prune=now");
  }
});
