import assert from "node:assert/strict";
import { test } from "node:test";
import { deployAndFinish, deploymentNow, pathsOf, sourceTester } from "../helpers/deployments.ts";
import { expect, world } from "../helpers/test-service.ts";

const hex = "0123456789abcdef".repeat(4);
const digest = `sha256:${hex}`;
const commit = /^[0-9a-f]{40}$/;
const many = { rateLimit: 1_000_000 };
const repo = "acme/web";

test("the image of an image source has a tag or a digest", async (t) => {
  const create = await sourceTester(await world(t, many));
  const accepted = [
    "nginx:1",
    "library/nginx:1.27-alpine",
    "registry.example.com/team/app:1.4.2",
    "registry.example.com:5000/team/app:1.4.2",
    "localhost:5000/app:v1",
    "Registry.Example.com/team/app:1",
    "a.b_c-d__e/f:T_a.g-1",
    `app:${"t".repeat(128)}`,
    `app@${digest}`,
    `localhost:5000/app@${digest}`,
    `registry.example.com/team/app:1.4.2@${digest}`,
  ];
  for (const image_url of accepted) {
    await t.test(`${image_url} is accepted as it is`, async () => {
      const { source } = expect(await create({ type: "image", image_url }), 201);
      assert.deepEqual(source, { type: "image", repo: null, branch: null, tag: null, image_url });
    });
  }
  const bare = [
    "nginx",
    "team/app",
    "registry.example.com/team/app",
    "registry.example.com:5000/app",
    "localhost:5000/app",
  ];
  const upper = ["Nginx:1", "registry.example.com/Team/app:1", `app@sha256:${hex.toUpperCase()}`, `app@SHA256:${hex}`];
  const parts = [
    "app:",
    "app:.1",
    "app:-x",
    `app:${"t".repeat(129)}`,
    "app:1:2",
    "app@",
    `app@${digest}0`,
    "app@sha256:12",
  ];
  const shapes = [
    "",
    ":1",
    "/app:1",
    "app/:1",
    "app//x:1",
    "-app:1",
    "app-:1",
    "a b:1",
    "app:1 ",
    "app:1\n",
    "app:1\u0000",
  ];
  const urls = ["https://registry.example.com/app:1", "docker://app:1", "--privileged:1", "../app:1", "app:$(id)"];
  for (const image_url of [...bare, ...upper, ...parts, ...shapes, ...urls, null, undefined, 1]) {
    await t.test(`${JSON.stringify(image_url)} is refused`, async () =>
      assert.deepEqual(pathsOf(expect(await create({ type: "image", image_url }), 422)), ["source.image_url"]),
    );
  }
});

test("fields that do not apply are ignored, whatever they hold, and come back null", async (t) => {
  const create = await sourceTester(await world(t));
  const wrong = [42, "", "--upload-pack=x", { a: 1 }, "\u0000"];
  for (const value of wrong) {
    await t.test(`a Git source with an image_url of ${JSON.stringify(value)}`, async () => {
      const { source } = expect(await create({ type: "git", repo, image_url: value, more: value }), 201);
      assert.deepEqual(source, { type: "git", repo, branch: null, tag: null, image_url: null });
    });
    await t.test(`an image source with repo, branch and tag of ${JSON.stringify(value)}`, async () => {
      const given = { type: "image", image_url: "app:1", repo: value, branch: value, tag: value };
      const { source } = expect(await create(given), 201);
      assert.deepEqual(source, { type: "image", repo: null, branch: null, tag: null, image_url: "app:1" });
    });
  }
  await t.test("null counts as left out", async () => {
    const given = { type: "git", repo, branch: null, tag: null, image_url: null };
    assert.deepEqual(expect(await create(given), 201).source, given);
  });
});

test("the version that a source is resolved to", async (t) => {
  const here = await world(t);
  const { id } = await here.project();
  const versionOf = async (source: object) => (await deployAndFinish(here, id, { source })).version;

  await t.test("of a tag is the tag", async () => {
    assert.equal(await versionOf({ type: "git", repo, tag: "v1.2.3" }), "v1.2.3");
  });
  await t.test("of a tag and a branch is the tag, and both are kept as given", async () => {
    const released = await deployAndFinish(here, id, { source: { type: "git", repo, branch: "main", tag: "v2" } });
    assert.equal(released.version, "v2");
    assert.deepEqual(released.source, { type: "git", repo, branch: "main", tag: "v2", image_url: null });
  });
  await t.test("of a branch is a full commit id, another one for every deployment", async () => {
    const source = { type: "git", repo, branch: "main" };
    const versions = [await versionOf(source), await versionOf(source), await versionOf(source)];
    for (const version of versions) assert.match(version, commit);
    assert.equal(new Set(versions).size, 3);
  });
  await t.test("of neither is a commit id of the default branch", async () => {
    assert.match(await versionOf({ type: "git", repo }), commit);
  });
  await t.test("of an image's tag is a digest", async () => {
    assert.match(await versionOf({ type: "image", image_url: "app:1" }), /^sha256:[0-9a-f]{64}$/);
  });
  await t.test("of an image's digest is that digest", async () => {
    assert.equal(await versionOf({ type: "image", image_url: `app@${digest}` }), digest);
    assert.equal(await versionOf({ type: "image", image_url: `app:1@${digest}` }), digest);
  });
  await t.test("of an image is null while it is pulled", async () => {
    const { id: image } = await here.deploy(id, { source: { type: "image", image_url: `app@${digest}` } });
    await here.service.clock.advance("2s");
    const { status, version } = await deploymentNow(here, image);
    assert.deepEqual([status, version], ["building", null]);
  });
});
