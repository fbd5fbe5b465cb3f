import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { callRules } from "./calls.ts";
import { cycles } from "./cycles.ts";
import { declarationRules, undeclared } from "./declarations.ts";
import { engineLines, mostEngineLines } from "./engines.ts";
import { gone, unused } from "./files.ts";
import { importRules } from "./imports.ts";
import { limitRules, outlived } from "./limits.ts";
import { loadedWith } from "./loaded.ts";
import { foldersOfLib, longestMap, mapMistakes, sizeMistakes, widestMap } from "./map.ts";
import { statelessExceptions, stateRule } from "./module-state.ts";
import { repositoryRules, stale } from "./repositories.ts";
import { listedScopes, widestScopes } from "./scopes.ts";
import { sharedQueryRule } from "./shared-queries.ts";
import { besides, parse, type Rule, type Sample, sources } from "./source.ts";
import { testRules } from "./tests.ts";

const all = sources("lib", "bin", "test");
const everywhere = [...all, ...besides()];
const rules: readonly Rule[] = [
  ...importRules,
  ...repositoryRules,
  sharedQueryRule,
  ...declarationRules,
  ...callRules,
  ...limitRules,
  stateRule,
  ...testRules,
];
const none = (broken: readonly string[]) => assert.equal(broken.length, 0, `\n${broken.join("\n")}`);
const judge = ({ of }: Rule, [path, text]: Sample) => of(parse(path, text));

for (const rule of rules) {
  test(rule.name, async (t) => {
    await t.test("holds in every file", () => none(all.flatMap(rule.of)));
    await t.test("can be broken, and says where and how to mend it", () => {
      for (const sample of rule.breaks) {
        const [sentence] = judge(rule, sample);
        assert.match(sentence ?? `nothing is said of: ${sample[1]}`, /^[\w./-]+\.ts:\d+ .*[;,]/);
      }
      for (const sample of rule.keeps ?? []) none(judge(rule, sample));
    });
  });
}

test("every problem that is thrown is declared, and the other way round", async (t) => {
  await t.test("holds in every file", () => none(undeclared(all)));
  await t.test("can be broken both ways", () => {
    const service = parse("lib/features/users/service.ts", 'throw new Problem("last_owner", "no");');
    const operations = parse(
      "lib/features/users/operations.ts",
      'operation({ problems: ["not_found", "last_owner"] });',
    );
    assert.match(undeclared([service])[0] ?? "", /^lib\/features\/users\/service\.ts:1 throws last_owner/);
    assert.match(undeclared([operations])[0] ?? "", /^lib\/features\/users\/operations\.ts:1 declares last_owner/);
    none(undeclared([service, operations]));
  });
});

test("no files form a cycle, not even by types", async (t) => {
  await t.test("holds in every file", () => none(cycles(everywhere)));
  await t.test("can be broken by values, by types and over several files", () => {
    const a = parse("lib/composition/a.ts", 'import { b } from "./b.ts";');
    const b = parse("lib/composition/b.ts", 'export type A = import("../http/c.ts").C;');
    const c = parse("lib/http/c.ts", 'import type { A } from "../composition/a.ts";');
    const leaf = parse("lib/http/c.ts", 'import { D } from "./d.ts";');
    assert.match(
      cycles([c, a, b])[0] ?? "",
      /^lib\/composition\/a\.ts, lib\/composition\/b\.ts, lib\/http\/c\.ts form a cycle; /,
    );
    assert.equal(cycles([c, a, b]).length, 1);
    none(cycles([a, b, leaf]));
  });
});

test(`${mostEngineLines} lines outside of lib/store/ differ between the engines at most`, async (t) => {
  await t.test("holds", () => {
    const lines = engineLines(all);
    t.diagnostic(`${lines.length} lines differ`);
    assert.ok(lines.length <= mostEngineLines, `${lines.length} ask which engine there is:\n${lines.join("\n")}`);
  });
  await t.test("counts lines that ask for one, or for what one alone has", () => {
    const text =
      'import { isPostgres } from "../store/a.ts";\nif (isPostgres(url) && isPostgres(to)) go(url);\nopened.cluster?.now();';
    assert.deepEqual(engineLines([parse("lib/composition/a.ts", text)]), [
      "lib/composition/a.ts:2",
      "lib/composition/a.ts:3",
    ]);
    assert.deepEqual(engineLines([parse("lib/store/a.ts", text)]), []);
    const members = "engine.foreignCommitVersion();\ntx.newest;\nopened.images;\nqueue.images;\nrows.newest;";
    assert.deepEqual(engineLines([parse("lib/composition/a.ts", members)]), [
      "lib/composition/a.ts:1",
      "lib/composition/a.ts:2",
      "lib/composition/a.ts:3",
    ]);
    const limits = "if (counters) count();\nif (engine.hasRowLocks) go();\nplacement.live?.(keys);";
    assert.equal(engineLines([parse("lib/platform/apps/a.ts", limits)]).length, 3);
  });
});

test("lib/README.md lists the transactions that lock every organization, each with its reason", async (t) => {
  await t.test("holds", () => {
    const [used, listed] = [widestScopes(all), listedScopes(readFileSync("lib/README.md", "utf8"))];
    assert.ok(used.length > 0);
    assert.deepEqual(used, listed);
  });
  await t.test("finds each of them, however the scope is given", () => {
    const text = `type A = "all";
      const one = () => store.transaction("all", work);
      export const two = { job: async () => done(work, "all"), scope: (isLast) => (isLast ? "all" : "rows") };`;
    assert.deepEqual(widestScopes([parse("lib/composition/a.ts", text)]), [
      "composition/a job",
      "composition/a one",
      "composition/a scope",
    ]);
    assert.deepEqual(listedScopes("- `app/a` `one`: a reason\n- `app/a` `two`:\n"), ["app/a one"]);
  });
});

test("a service that simulates in memory loads nothing of the platform, the page and PostgreSQL", async (t) => {
  const heavy = (path: string) => /^lib\/(platform|dashboard\/page|store\/postgres)\//.test(path);
  await t.test("holds", () => {
    const loaded = loadedWith("lib/service.ts", all);
    assert.ok(loaded.has("lib/features/environments/no-live-apps.ts"));
    none([...loaded].filter(heavy).map((path) => `lib/service.ts loads ${path}; reach it through LiveApps`));
  });
  await t.test("can be broken", () => {
    const late = parse(
      "lib/service.ts",
      'const a = await import("./platform/a.ts"); import type { B } from "./platform/b.ts";',
    );
    const early = parse("lib/service.ts", 'import { a } from "./platform/a.ts";');
    const files = ["a", "b"].map((name) => parse(`lib/platform/${name}.ts`, ""));
    assert.deepEqual([...loadedWith("lib/service.ts", [late, ...files])], ["lib/service.ts"]);
    assert.ok(loadedWith("lib/service.ts", [early, ...files]).has("lib/platform/a.ts"));
  });
});

test("every file is imported or started, and the lists of the rules name no file that is gone", () => {
  none(unused(everywhere));
  const [a, b] = [parse("lib/composition/a.ts", 'import "./b.ts";'), parse("lib/composition/b.ts", "")];
  assert.match(unused([a, b], [])[0] ?? "", /^lib\/composition\/a\.ts is imported by no file; /);
  none(unused([a, b], ["lib/{composition,apps}/*.ts"]));
  none(gone(all));
  assert.ok(
    gone(all, () => false).includes(
      "lib/kernel/clock.ts is gone; take it off the list in test/architecture/ or .knip.json",
    ),
  );
});

test("no exception outlives what it was made for", () => {
  none(stale(all).map((name) => `${name} has no query; take it off the list in test/architecture/repositories.ts`));
  assert.ok(stale([]).includes("keys/identify"));
  none(outlived(all).map((name) => `${name} is not too long; take it off the list in test/architecture/limits.ts`));
  assert.ok(outlived([]).length > 0);
  none(
    statelessExceptions(all).map(
      (path) => `${path} has no state; take it off the list in test/architecture/module-state.ts`,
    ),
  );
  assert.ok(statelessExceptions([]).length > 0);
});

test("every folder of lib is in the tree of lib/README.md, which names no other", async (t) => {
  const folders = foldersOfLib();
  await t.test("holds", () => none(mapMistakes(readFileSync("lib/README.md", "utf8"), folders)));
  await t.test("can be broken", () => {
    const map = "lib/  surfaces\n  composition/  composes\n    a/  x\n  features/  all\n    users/  people\n";
    none(mapMistakes(map, ["lib/composition", "lib/composition/a", "lib/features", "lib/features/users"]));
    assert.match(
      mapMistakes(map, ["lib/composition", "lib/features", "lib/features/users"])[0] ?? "",
      /^lib\/README\.md names lib\/composition\/a\/, which/,
    );
    assert.match(
      mapMistakes("", ["lib/composition"])[0] ?? "",
      /^lib\/README\.md does not name lib\/composition\/; add/,
    );
  });
});

test(`lib/README.md has ${longestMap} lines of ${widestMap} characters at most`, async (t) => {
  await t.test("holds", () => none(sizeMistakes(readFileSync("lib/README.md", "utf8"))));
  await t.test("can be broken", () => {
    none(sizeMistakes(`${"x".repeat(widestMap)}\n`.repeat(longestMap)));
    assert.match(sizeMistakes("x\n".repeat(longestMap + 1))[0] ?? "", /has 151 lines; move/);
    assert.match(sizeMistakes(`x\n${"x".repeat(widestMap + 1)}\n`)[0] ?? "", /^lib\/README\.md:2 has 201 characters;/);
  });
});
