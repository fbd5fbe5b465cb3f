import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { gitHost } from "../helpers/git-host.ts";
import { keyOf } from "../helpers/test-service.ts";

test("a push that git refuses, that deploys nothing, or that needs Git LFS says what to do", async (t) => {
  const here = await gitHost(t);
  here.repos.commit("me/hello", { "index.html": "one" });
  here.repos.commit("me/hello", { "index.html": "two" });
  const address = here.urlOf("me/hello", keyOf("developer"));

  // A clone without its history.
  const shallow = here.folder();
  await here.run("me/hello", ["clone", "--quiet", "--depth=1", `file://${join(here.repos.root, "me/hello")}`, shallow]);
  const refused = await here.run("me/hello", ["-C", shallow, "push", address, "HEAD:main"]);
  assert.equal(refused.code, 1, refused.text);
  assert.match(refused.text, /^remote: This clone is shallow: .*: git fetch --unshallow\b/m);
  // Nothing was made of it, and a whole clone goes through.
  const whole = await here.push("me/hello", "developer", "main:topic");
  assert.equal(whole.code, 0, whole.text);
  assert.doesNotMatch(whole.text, /shallow/);
  // The service has the history by now.
  const later = await here.run("me/hello", ["-C", shallow, "push", address, "HEAD:later"]);
  assert.equal(later.code, 0, later.text);
  assert.doesNotMatch(later.text, /shallow/);
  assert.match(
    later.text,
    /^remote: The branch later deploys nothing: .*, or make it the default: svc-server call repositories\.update owner=me name=hello default_branch=later/m,
  );

  here.repos.git("me/hello", "tag", "v1");
  here.repos.git("me/hello", "tag", "v2");
  const tagged = await here.push("me/hello", "developer", "v1");
  assert.match(
    tagged.text,
    /^remote: The tag v1 is stored, but not deployed: .* source\.repo=me\/hello source\.tag=v1/m,
  );
  const tags = await here.push("me/hello", "developer", "v2", [":refs/tags/v1"]);
  assert.doesNotMatch(tags.text, /v1 is stored/);
  // Beside a branch, a tag is no surprise.
  const both = await here.push("me/hello", "developer", "v2:refs/tags/v3", ["-o", "environment=x", "--tags"]);
  assert.match(both.text, /remote: The tag/);

  const batch = await fetch(`${address.replace(/\/\/.*@/, "//")}/info/lfs/objects/batch`, {
    method: "POST",
    headers: {
      authorization: `Basic ${btoa(`me:${keyOf("developer")}`)}`,
      "content-type": "application/vnd.git-lfs+json",
    },
    body: JSON.stringify({ operation: "upload", objects: [] }),
  });
  assert.equal(batch.status, 404);
  assert.equal(batch.headers.get("content-type"), "application/vnd.git-lfs+json");
  const { message } = (await batch.json()) as { message: string };
  assert.match(message, /Git LFS is not served here.*git lfs migrate export.*--no-verify/);
  const unknown = await fetch(`${address.replace(/\/\/.*@/, "//")}/info/lfs/objects/batch`, { method: "POST" });
  assert.equal(unknown.status, 401);
});
