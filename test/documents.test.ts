import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { documents } from "../.scripts/documents.ts";
import { parseSeed } from "../lib/config/seed.ts";

for (const { path, text } of await documents()) {
  test(`${path} is what the code says`, () => {
    // Not by equal(), which would print hundreds of thousands of characters.
    assert.ok(readFileSync(path, "utf8") === text, `run "npm run generate" and commit ${path}`);
  });
}

test("the demo seed is a seed", () => {
  assert.ok(parseSeed(JSON.parse(readFileSync("fixtures/demo.json", "utf8"))).organizations.length > 0);
});

test("the lock file knows nothing of the folder that it was written in", () => {
  assert.doesNotMatch(readFileSync("package-lock.json", "utf8"), /"\.\.\//);
});

test("the lock file has an entry for every optional package, without which npm ci refuses it", () => {
  const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8"));
  for (const [path, { optionalDependencies = {} }] of Object.entries<{ optionalDependencies?: object }>(packages)) {
    for (const name of Object.keys(optionalDependencies)) {
      const places = [`node_modules/${name}`, `${path}/node_modules/${name}`];
      assert.ok(
        places.some((place) => place in packages),
        `${name} is missing; run "npm run lock"`,
      );
    }
  }
});
