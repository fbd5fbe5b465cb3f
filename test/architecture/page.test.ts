import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path/posix";
import { test } from "node:test";

const folder = "lib/dashboard/page";
const longest = 250;

/** Calls that turn text into elements or code: names and logs must stay text. */
const unsafe =
  /\b(innerHTML|outerHTML|dangerouslySetInnerHTML|insertAdjacentHTML|setHTMLUnsafe|srcdoc|document\.write|DOMParser|createContextualFragment|eval|new Function)\b/;

/** The only files outside its folder that a page may import. Type imports cost nothing. */
const known =
  /^lib\/(dashboard\/page|client|kernel\/roles|kernel\/secrets\/secret-redaction|features\/(deployments\/states|events\/catalog|generations\/(inputs|price-list)))\b/;

function mistakesOf(name: string, text: string): string[] {
  const lines = text.split("\n");
  const imports = [...text.matchAll(/^import (type )?.*? from "(\.\.[^"]*)";$/gms)];
  return [
    ...(lines.length > longest + 1 ? [`${name} has ${lines.length} lines; move a part into a file of its own`] : []),
    ...lines.flatMap((line, i) =>
      unsafe.test(line) ? [`${name}:${i + 1} makes elements or code of text; render it`] : [],
    ),
    ...imports.flatMap(([, type, from = ""]) =>
      type || known.test(join(folder, dirname(name), from)) ? [] : [`${name} imports ${from} into the page`],
    ),
  ];
}

test("the page makes no element of text, holds little of ours, and its files are short", () => {
  const files = (readdirSync(folder, { recursive: true }) as string[]).filter((name) => /\.tsx?$/.test(name));
  assert.ok(files.length > 5);
  assert.deepEqual(
    files.flatMap((name) => mistakesOf(name, readFileSync(`${folder}/${name}`, "utf8"))),
    [],
  );
});

test("the rules of the page can be broken", () => {
  assert.equal(mistakesOf("a.tsx", "element.innerHTML = name;").length, 1);
  assert.equal(mistakesOf("a.tsx", "<div dangerouslySetInnerHTML={{ __html: name }} />").length, 1);
  assert.equal(mistakesOf("a.tsx", 'import { store } from "../../store/store.ts";').length, 1);
  assert.equal(mistakesOf("a.tsx", "a();\n".repeat(251)).length, 1);
  assert.deepEqual(mistakesOf("a.tsx", 'import type { Row } from "../../store/tables.ts";\nreturn <b>{name}</b>;'), []);
});
