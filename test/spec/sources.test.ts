import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { pathsOf, sourceTester } from "../helpers/deployments.ts";
import fc from "../helpers/fast-check.ts";
import { runs } from "../helpers/properties.ts";
import { expect, world } from "../helpers/test-service.ts";

const many = { rateLimit: 1_000_000 };
const repo = "acme/web";

test("the type of a source", async (t) => {
  const create = await sourceTester(await world(t));
  for (const source of [undefined, null, "acme/web", 1]) {
    await t.test(`a source must not be ${JSON.stringify(source)}`, async () =>
      assert.deepEqual(pathsOf(expect(await create(source), 422)), ["source"]),
    );
  }
  for (const type of [undefined, null, "", "svn", "Git", 1]) {
    await t.test(`a type must not be ${JSON.stringify(type)}`, async () =>
      assert.deepEqual(pathsOf(expect(await create({ type, repo, image_url: "app:1" }), 422)), ["source.type"]),
    );
  }
});

test("the repo of a Git source is owner/repo", async (t) => {
  const create = await sourceTester(await world(t, many));
  const accepted = [
    "a/b",
    repo,
    "A-1._x/y_.-Z",
    "_a/_b",
    `o/${"r".repeat(138)}`,
    `${"o".repeat(70)}/${"r".repeat(69)}`,
  ];
  for (const name of accepted) {
    await t.test(`"${name}" is accepted as it is`, async () =>
      assert.equal(expect(await create({ type: "git", repo: name }), 201).source.repo, name),
    );
  }
  const urls = [
    "https://github.com/acme/web",
    "https://github.com/acme/web.git",
    "HTTPS://github.com/acme/web",
    "http://example.com/acme/web",
    "git://example.com/acme/web",
    "ssh://git@example.com/acme/web",
    "git@github.com:acme/web.git",
    "github.com/acme/web",
    "file:///etc/passwd",
  ];
  const hostile = ["--upload-pack=x", "--upload-pack=x/y", "a/--upload-pack=x", "-a/b", "a/-b", ".a/b", "a/.b"];
  const paths = ["../x", "a/..", "./x", "/a/b", "a/b/", "a//b", "a/b/c", "a", "/", ""];
  const characters = ["a b/c", "a/b\n", "a/\u0000b", "a/b\u001b", "ä/b", "a/b?x", "a/b#x", "a\\b", "a/b;id", "a/$(id)"];
  const lengths = [`o/${"r".repeat(139)}`, `${"o".repeat(71)}/${"r".repeat(69)}`];
  const types = [null, undefined, 1, ["acme/web"], {}];
  for (const name of [...urls, ...hostile, ...paths, ...characters, ...lengths, ...types]) {
    await t.test(`${JSON.stringify(name)} is refused`, async () =>
      assert.deepEqual(pathsOf(expect(await create({ type: "git", repo: name }), 422)), ["source.repo"]),
    );
  }
  for (const url of urls) {
    await t.test(`the refusal of ${url} names the right form`, async () => {
      const { error } = expect(await create({ type: "git", repo: url }), 422);
      assert.match(error.details[0].message, /owner\/repo/);
    });
  }
});

test("the branch and the tag of a Git source are names that git allows", async (t) => {
  const create = await sourceTester(await world(t, many));
  const accepted = [
    "main",
    "v1.2.3",
    "feature/x-1",
    "a/b/c",
    "ünïcode",
    "a@b",
    "@x",
    "x{",
    "a.b",
    "lock",
    "x.locked",
    "😀",
  ];
  const dashes = ["-", "--upload-pack=x", "-c", "--"];
  const dots = ["../x", "x/../y", "a..b", ".", ".a", "a/.b", "a.", ".."];
  const characters = [
    "a b",
    "a~1",
    "a^",
    "a:b",
    "a?",
    "a*",
    "[a",
    "a\\b",
    "a\tb",
    "a\nb",
    "a\u001b",
    "a\u007f",
    "a\u0000",
  ];
  const shapes = ["", "@", "a@{1}", "@{", "a.lock", "a.lock/b", "/a", "a/", "a//b", "/", "\ud800"];
  for (const field of ["branch", "tag"] as const) {
    for (const name of accepted) {
      await t.test(`the ${field} "${name}" is accepted as it is`, async () =>
        assert.equal(expect(await create({ type: "git", repo, [field]: name }), 201).source[field], name),
      );
    }
    for (const name of [...dashes, ...dots, ...characters, ...shapes, 1, {}]) {
      await t.test(`the ${field} ${JSON.stringify(name)} is refused`, async () =>
        assert.deepEqual(pathsOf(expect(await create({ type: "git", repo, [field]: name }), 422)), [`source.${field}`]),
      );
    }
  }
});

test("a ref name is accepted exactly where git accepts it", async (t) => {
  const allowed = (name: string) => spawnSync("git", ["check-ref-format", "--allow-onelevel", name]).status === 0;
  if (spawnSync("git", ["--version"]).status !== 0) return t.skip("git is not installed here, so there is no judge");
  const create = await sourceTester(await world(t, many));
  const pieces = [
    "a",
    "Z",
    "0",
    "-",
    ".",
    "..",
    "/",
    "//",
    "@",
    "@{",
    "{",
    "}",
    ".lock",
    "lock",
    "~",
    "^",
    ":",
    "?",
    "*",
  ];
  const rare = [
    "[",
    "]",
    "\\",
    " ",
    "\t",
    "\n",
    "\u001f",
    "\u007f",
    "\u0080",
    "ä",
    "😀",
    "_",
    "#",
    "$",
    "'",
    '"',
    "!",
    "|",
  ];
  const name = fc.oneof(
    fc.array(fc.constantFrom(...pieces, ...rare), { minLength: 1, maxLength: 6 }).map((parts) => parts.join("")),
    fc
      .array(fc.constantFrom("a", "b.c", "x-1", ".", "..", "@", "a.lock", ""), { minLength: 1, maxLength: 4 })
      .map((parts) => parts.join("/")),
  );
  const property = fc.asyncProperty(name, async (branch) => {
    const { status } = await create({ type: "git", repo, branch });
    const right = !branch.startsWith("-") && branch !== "" && allowed(branch);
    assert.equal(status, right ? 201 : 422, JSON.stringify(branch));
  });
  await fc.assert(property, { ...runs(40), seed: 20260101 });
});
