import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { buildSync } from "esbuild";
import * as v from "valibot";
import { table } from "../../bin/output.ts";
import { optionsSchema } from "../../lib/config/options/options-schema.ts";
import { allOptions } from "../../lib/config/parse-options.ts";
import { streamQuery } from "../../lib/features/events/schema.ts";
import { createService } from "../../lib/index.ts";
import { pathOf } from "../../lib/kernel/text/paths.ts";
import { readKey } from "../../lib/store/encryption.ts";
import { runHere } from "../helpers/cli-in-process.ts";
import { userFolder, within } from "../helpers/cli-refusals.ts";
import { temporaryFolder } from "../helpers/program.ts";

const demo = readFileSync("fixtures/demo.json", "utf8");

test("a path may begin with ~, file: or sqlite: in an option, an argument, a variable and a file", async (t) => {
  const { folder, file } = userFolder(t);
  const env = { HOME: folder, USERPROFILE: folder, XDG_CONFIG_HOME: folder, APPDATA: folder, SVC_PORT: "0" };
  const said = async (words: readonly string[], more = {}, status = 0) => {
    const done = await runHere(words, folder, { ...env, ...more });
    assert.equal(done.status, status, `${words.join(" ")}: ${done.stdout}${done.stderr}`);
    return done.stdout + done.stderr;
  };
  await said(["seed", "demo", "--database=~/deep.db"]);
  await said(["backup", "~/copy.db"], { SVC_DATABASE: `file://${folder}/deep.db` });
  await said(["restore", "file:copy.db", "--database", "sqlite:again.db"]);
  file("svc.json", '{"database":"~/again.db"}');
  assert.ok((await said(["doctor", "--config=~/svc.json"])).includes(`${folder}/again.db is intact`));
  file("new.key", Buffer.alloc(32, 7).toString("base64"));
  await said(["keys", "rotate-encryption", "--new-key-file=~/new.key"], { SVC_DATABASE: "~/again.db" });
  const names = readdirSync(folder).filter((name) => !/\.(key|sha256|lock|reserve)$/.test(name));
  assert.deepEqual(names.sort(), ["again.db", "copy.db", "deep.db", "svc.json"]);
  for (const database of ["sqlite://x.db", "file:x.db?mode=ro", "mysql://u:hush@x/y"])
    assert.match(await said(["keys", "list", "--database", database], {}, 2), /must be the path of a file, or a URL/);

  const isPath = ({ value = "", help }: (typeof allOptions)[number]) =>
    /PATH|DIR/.test(value) || /^(The path|A folder|The folder)/.test(help);
  const paths = allOptions.filter(isPath).map(({ path }) => path);
  assert.equal(paths.length, 7, paths.join(" "));
  await within(env, async () => {
    for (const [given, meant] of [
      ["~", folder],
      ["~/x", `${folder}/x`],
      ["file:x", "x"],
      ["FILE:~/x", `${folder}/x`],
      ["file:///a%20b", "/a b"],
      ["sqlite:/x", "/x"],
      ["sqlite::memory:", ":memory:"],
      ["./~/x", "./~/x"],
      ["~ada/x", "~ada/x"],
      ["file://server/x", "file://server/x"],
    ] as const)
      assert.equal(pathOf(given), meant);
    for (const path of paths) {
      const names = path.split(".");
      const options = names.reduceRight<unknown>((below, name) => ({ [name]: below }), "~/x");
      const parsed = names.reduce<unknown>(
        (at, name) => (at as Record<string, unknown>)[name],
        v.parse(optionsSchema, options),
      );
      assert.equal(parsed, `${folder}/x`, path);
    }
  });
});

test("a file of the user's may begin with a byte order mark", async (t) => {
  const { folder, file } = userFolder(t);
  const service = await createService({ seed: JSON.parse(demo) });
  t.after(() => service.close());
  const { url } = await service.listen({ port: 0 });
  mkdirSync("svc-server");
  file("svc-server/profiles.json", `\uFEFF${JSON.stringify({ default: { url, api_key: "sk_live_demo_owner" } })}`);
  chmodSync("svc-server/profiles.json", 0o600);
  file("body.json", '\uFEFF{"name":"marked","region":"local"}');
  const env = { HOME: folder, XDG_CONFIG_HOME: folder, APPDATA: folder };
  const made = await runHere(["call", "projects.create", "body=@~/body.json", "--field", "name"], folder, env);
  assert.deepEqual([made.status, made.stdout], [0, "marked\n"], made.stderr);
  file("key", `\uFEFF${Buffer.alloc(32, 7).toString("base64")}\n`);
  assert.deepEqual(readKey("key"), Buffer.alloc(32, 7));
});

test("lists may have spaces around their entries", async (t) => {
  const { folder } = userFolder(t);
  const service = await createService({ seed: JSON.parse(demo) });
  t.after(() => service.close());
  const { url } = await service.listen({ port: 0 });
  const env = { SVC_URL: url, SVC_API_KEY: "sk_live_demo_owner", XDG_CONFIG_HOME: folder, APPDATA: folder };
  const events = ["project.created", "user.invited"];
  const words = ["url=https://shop.inbox.test/in", `events=${events.join(" , ")}`, "secret=whsec_demo"];
  const made = await runHere(["call", "webhooks.create", ...words, "--field", "events"], folder, env);
  assert.deepEqual([made.status, JSON.parse(made.stdout)], [0, events], made.stderr);
  await runHere(["seed", "demo", "--database", "svc.db"], folder, env);
  const [scopes, at] = ["projects:read, users:read", ["--database", "svc.db", "--json"]];
  await runHere(["keys", "create", ...at, "--scopes", scopes], folder, env);
  assert.match(
    (await runHere(["keys", "list", ...at], folder, env)).stdout,
    /"scopes":\["projects:read","users:read"\]/,
  );
  assert.equal(v.parse(streamQuery, { events: "user.invited , *" }).events, "user.invited,*");
});

test("a table lines up with wide characters, emoji and accents", () => {
  const rows = ["東京", "né\u0301e", "👩‍👩‍👧", "web"].map(
    (name) =>
      table([
        [name, "x"],
        ["widest", "y"],
      ]).split("\n")[0],
  );
  assert.deepEqual(rows, ["東京    x", "né\u0301e     x", "👩‍👩‍👧      x", "web     x"]);
});

test("a bundle of the package says what to do, instead of missing its files", async (t) => {
  const outfile = join(temporaryFolder(t), "app.mjs");
  buildSync({ entryPoints: ["lib/kernel/version.ts"], bundle: true, platform: "node", format: "esm", outfile });
  const { version } = (await import(pathToFileURL(outfile).href)) as { version: () => string };
  assert.throws(version, /cannot find its own files, because a bundler has moved its code; make it external/);
});
