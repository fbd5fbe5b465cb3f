import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path/posix";
import { test } from "node:test";
import { documents } from "../.scripts/documents.ts";
import { parseSeed } from "../lib/config/seed.ts";

for (const { path, text } of await documents()) {
  test(`${path} is what the code says`, () => {
    // equal() would print hundreds of thousands of characters.
    assert.ok(readFileSync(path, "utf8") === text, `run "npm run generate" and commit ${path}`);
  });
}

const pages = [".", ".github", "schema", "fixtures", "lib", "test"].flatMap((folder) =>
  readdirSync(folder, { recursive: folder !== "." })
    .map((file) => join(folder, String(file).replaceAll("\\", "/")))
    .filter((file) => file.endsWith(".md")),
);
/** The targets of a page's links, relative to the top of the repository, with the heading that they name. */
const linksOf = (page: string, text = readFileSync(page, "utf8")) =>
  [...text.replaceAll(/```[\s\S]*?```/g, "").matchAll(/\]\((?!https?:)([^)#]*)#?([^)]*)\)/g)].map(
    ([, path = "", heading = ""]) => ({ file: path === "" ? page : join(dirname(page), path), heading }),
  );
const headingsOf = (file: string) =>
  [...readFileSync(file, "utf8").matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w -]/g, "")
      .replaceAll(" ", "-"),
  );

test("every link of a page leads to an existing file and heading", () => {
  for (const page of pages) {
    for (const { file, heading } of linksOf(page)) {
      assert.ok(existsSync(file), `${page} links ${file}, which does not exist`);
      if (heading) assert.ok(headingsOf(file).includes(heading), `${page} links #${heading}, which ${file} lacks`);
    }
  }
});

test("comments cite pages of the repository, and headings that are there", () => {
  const sources = ["lib", "bin"].flatMap((folder) =>
    readdirSync(folder, { recursive: true })
      .map((file) => join(folder, String(file).replaceAll("\\", "/")))
      .filter((file) => /\.(ts|tsx|mjs)$/.test(file)),
  );
  let cited = 0;
  for (const source of sources) {
    const text = readFileSync(source, "utf8");
    assert.doesNotMatch(text, /\b(CONTRACT|SPEC)\b/, `${source} cites a page that readers do not have`);
    for (const [, file = "", heading] of text.matchAll(/\b((?:schema|fixtures)\/[\w/-]+\.md)(?:#([\w-]+))?/g)) {
      cited += 1;
      assert.ok(existsSync(file), `${source} cites ${file}, which does not exist`);
      if (heading) assert.ok(headingsOf(file).includes(heading), `${source} cites #${heading}, which ${file} lacks`);
    }
  }
  assert.ok(cited > 50, `${cited} pages`);
});

test("the pages of the package link only to files in it", () => {
  const { files } = JSON.parse(readFileSync("package.json", "utf8"));
  const isIn = (file: string) => ["README.md", ...files].some((one) => file === one || file.startsWith(`${one}/`));
  for (const page of pages.filter(isIn)) {
    // The README's last chapter is about the repository and says so.
    const [text] = readFileSync(page, "utf8").split("\n## Working on it\n");
    // Registries load pictures from the repository.
    for (const { file } of linksOf(page, text).filter(({ file }) => !file.endsWith(".png")))
      assert.ok(isIn(file), `${page} links ${file}, which is not in the package`);
  }
});

test("every promise of the page on security names its tests", () => {
  const [, promises = ""] = readFileSync("schema/security.md", "utf8").split("## What is promised");
  const rows = promises.split("\n## ", 1)[0]?.match(/^\| (?!promise|---).*\|$/gm) ?? [];
  assert.ok(rows.length >= 10, `${rows.length} promises`);
  for (const row of rows) {
    const files = [...row.matchAll(/`((?:test|\.ci)\/[^`]+)`/g)].map(([, file = ""]) => file);
    assert.ok(files.length > 0, `no test is named: ${row}`);
    for (const file of files) assert.ok(existsSync(file), `${file} does not exist`);
  }
});

test("the README is a page, and not a book", () => {
  assert.ok(readFileSync("README.md", "utf8").trimEnd().split("\n").length <= 170);
});

test("every path on the page for contributors exists, and the page is short", () => {
  const page = ".github/CONTRIBUTING.md";
  const text = readFileSync(page, "utf8");
  for (const { file } of linksOf(page, text))
    assert.ok(existsSync(file), `${page} links ${file}, which does not exist`);
  const paths = text.match(/(?<![\w./-])(?:lib|bin|test|schema|fixtures|\.ci|\.scripts)\/[\w./-]*\w/g) ?? [];
  assert.ok(paths.length > 40, `${paths.length} paths`);
  for (const path of paths) assert.ok(existsSync(path), `${page} names ${path}, which does not exist`);
  assert.ok(text.trimEnd().split("\n").length <= 150);
});

test("every decision links its tests", () => {
  const page = "test/spec/README.md";
  const rows = readFileSync(page, "utf8").matchAll(/^\| (?!question|---)(.*) \|$/gm);
  const all = [...rows].map(([row]) => row);
  assert.ok(all.length > 100);
  for (const row of all) {
    const links = linksOf(page, row);
    assert.ok(links.length > 0, `no test: ${row}`);
    for (const { file } of links) assert.match(file, /^test\/.*\.test\.ts$/, row);
  }
});

test("the demo seed is a seed", () => {
  assert.ok(parseSeed(JSON.parse(readFileSync("fixtures/demo.json", "utf8"))).organizations.length > 0);
});

test("the lock file knows nothing of the folder that it was written in", () => {
  assert.doesNotMatch(readFileSync("package-lock.json", "utf8"), /"\.\.\//);
});

test("the lock file has an entry for every optional package, because npm ci needs it", () => {
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
