import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { configuration } from "../../bin/server-options.ts";
import { allOptions, variableOf } from "../../lib/config/parse-options.ts";
import { runHere } from "../helpers/cli-in-process.ts";
import { refuses, userFolder } from "../helpers/cli-refusals.ts";
import { launch, run } from "../helpers/program.ts";

test("wrong options end with 2, name the flag, variable or file, and say what would be right", async (t) => {
  const here = userFolder(t);
  const { file } = here;
  const role = '{"organizations":[{"name":"x","users":[{"name":"A","email":"a@b.test","role":"boss"}]}]}';
  await refuses(here, 2, [
    [["dev", "--prot", "1"], /unknown option --prot; did you mean --port\?/],
    [["dev", "--port"], /--port needs a value/],
    [["dev", "--port", "65536"], /option --port must be a whole number from 0 to 65535/],
    [["dev"], /SVC_PORT must be a whole number from 0 to 65535/, { SVC_PORT: "70000" }],
    [["dev", "extra"], /unexpected word "extra"/],
    [["dev", "--envelope", "round"], /option --envelope must be flat or full/],
    [["dev", "--clock", "yesterday"], /option --clock must be real, manual/],
    [["dev", "--key", "sk_test_x"], /option --key must be sk_live_/],
    [["dev", "--rate-limit", "-1"], /option --rate-limit must be a whole number from 0 to 1000000000/],
    [["dev"], /SVC_RATE_LIMIT must be a whole number from 0/, { SVC_RATE_LIMIT: "none" }],
    [["dev"], /SVC_BEHIND_PROXY must be true or false/, { SVC_BEHIND_PROXY: "maybe" }],
    [
      ["dev"],
      /SVC_GENERATIONS_BACKENDS is not valid JSON: see line 1, column 6/,
      { SVC_GENERATIONS_BACKENDS: '{"a" "hush"}' },
    ],
    [["start", "--clock", "manual"], /option --clock is for svc-server dev/],
    [["start", "--send"], /option --send is for svc-server dev/],
    [["start"], /SVC_OUTBOUND_SEND is for the mode dev; start sends every delivery/, { SVC_OUTBOUND_SEND: "true" }],
    [["dev", "--create"], /option --create is for svc-server start/],
    [["start", "--host", "0.0.0.0"], /set --public-url, or --behind-proxy if a proxy is in front of it\n/],
    [["dev", "--host", "0.0.0.0"], /or --trust-network for a network of containers/],
    ...["172.16.0.0", "172.16.0.0/33", "svc", "10.0.0.0/8,,", "fe80::1%eth0/64"].map(
      (text) =>
        [
          ["dev", "--trust-network", text],
          /option --trust-network( \(entry \d\))? must be a network such as 172\.16/,
        ] as const,
    ),
    [["start", "--trust-network", "10.0.0.0/8"], /option --trust-network is for svc-server dev/],
    [
      ["start"],
      /trustNetwork|SVC_TRUST_NETWORK is for the mode dev; start has no control/,
      { SVC_TRUST_NETWORK: "10.0.0.0/8" },
    ],
    [["dev", "--seed", "none.json"], /the seed file none\.json cannot be read/],
    [["dev", "--seed", file("a.json", '{\n  "organizations": [,]\n}')], /is not valid JSON: see line 2, column 21/],
    [
      ["dev", "--seed", file("deep.json", `${"[".repeat(10_000)}${"]".repeat(10_000)}`)],
      /the seed file .*deep\.json must not be nested deeper than 32 levels/,
    ],
    [["dev", "--seed", file("b.json", role)], /organizations\.0\.users\.0\.role must be/],
    [["dev", "--config", file("c.json", '{"colour":"blue"}')], /c\.json: option colour is unknown/],
    [
      ["dev", "--config", file("e.json", '{"deployments.concurrency":1}')],
      /e\.json: option deployments\.concurrency is unknown; nest it: \{"deployments":\{"concurrency":…\}\}/,
    ],
    [
      ["dev", "--config", file("d.json", '{"deployments":{"concurrency":0}}')],
      /d\.json: option deployments\.concurrency must/,
    ],
  ]);
});

test("wrong words for any other command end with 2 and one sentence that says what would be right", async (t) => {
  const here = userFolder(t);
  here.file("b.json", '{"organizations":[{"name":""}]}');
  await refuses(here, 2, [
    [["cal"], /no command is called cal; did you mean call\?\nSee svc-server --help/],
    [["nonsense"], /no command is called nonsense; the commands are dev, start, exec, deploy, env, call/],
    [["keys"], /svc-server: keys needs a command; the commands are keys create, keys list, keys revoke/],
    [["nope", "--help"], /no command is called nope; the commands are dev/],
    [["help", "keys", "nope"], /no command is called keys nope; the commands are keys create/],
    [["deployments"], /deployments needs a command; the command is deployments logs/],
    [["keys", "lst"], /no command is called keys lst; did you mean keys list\?\nSee svc-server keys --help/],
    [["deployments", "list"], /no command is called deployments list; write svc-server call deployments\.list/],
    [["keys", "create", "--scopes", "everything"], /"everything" is not a scope; the scopes are/],
    [["keys", "create", "--rate-limit", "-1"], /option --rate-limit must be a whole number from 0/],
    [["keys", "create", "--expires-at", "2020-01-01T00:00:00Z"], /option --expires-at must be in the future/],
    [["keys", "create", "--expires-at", "2027-02-30T00:00:00Z"], /option --expires-at must be an instant such as/],
    [["keys", "list", "--database", ":memory:"], /option --database must be a file/],
    [["keys", "revoke"], /needs the argument ID/],
    [["mail", "extra"], /unexpected word "extra"/],
    [["backup"], /needs the argument FILE/],
    [["backup", "copy.db", "--databse", "x"], /did you mean --database\?/],
    [["restore"], /needs the argument FILE/],
    [["restore", "a.db", "b.db"], /unexpected word "b\.db"/],
    [["seed"], /needs the argument FILE/],
    [["seed", "none.json"], /the seed file none\.json cannot be read/],
    [["seed", "b.json", "--database", "new.db"], /organizations\.0\.name must have/],
    [["login", "extra"], /unexpected word "extra"/],
    [["login", "sk_live_hush"], /a key is never an argument, .* give it on stdin: svc-server login < key\.txt/],
    [["login", "--sk_live_hush"], /unknown option --sk_live_…/],
    [["sk_live_hush"], /no command is called sk_live_…/],
    [["call", "sk_live_hush"], /no operation is called "sk_live_…"/],
    [["call", "me.get", "sk_live_hush"], /"sk_live_…" is not a field/],
    [["dev", "--key", "sk_live_hush!"], /option --key must be sk_live_ and 4 to 128/],
    [["call", "me.get"], /SVC_URL must be an http or https URL/, { SVC_URL: "ftp://a" }],
    [["call", "me.get"], /SVC_API_KEY must be sk_live_…, on one line/, { SVC_API_KEY: "two words" }],
    [["call", "me.get", "--profile", "none"], /there is no profile "none"/],
    [["call"], /needs the argument OPERATION/],
    [["users", "lst"], /did you mean users\.list\?/],
    [["deployments", "logs"], /needs the argument ID/],
    [["start", "--cors", "*,app"], /option --cors \(entry 2\) must be a whole origin/],
    [["openapi", "--envelope", "round"], /option --envelope must be flat or full/],
    [["listen"], /option --forward-to must be a URL/],
    [["doctor", "--port", "x"], /option --port must be a whole number/],
    [["completion", "cmd"], /the shell must be one of bash, zsh, fish/],
  ]);
});

test("correct words that fail for another reason end with 1, and create nothing", async (t) => {
  const here = userFolder(t);
  here.file("seed.json", '{"organizations":[{"name":"x"}]}');
  await refuses(here, 1, [
    [
      ["keys", "list"],
      /svc-data cannot be used: it does not exist; .* has no file: .*svc-server call keys\.create name=ci/,
    ],
    [["keys", "create"], /A server in memory \(svc-server dev\) has no file: svc-server call keys\.create name=ci/],
    [["keys", "create", "--database", "far/none.db"], /far\/none\.db cannot be used: it does not exist/],
    [["keys", "list"], /here\.db cannot be used: it does not exist/, { SVC_DATABASE: "here.db" }],
    // Without SVC_DATABASE, `mail` would ask the emulator at the default address, which a developer may be running.
    [["mail"], /here\.db cannot be used: it does not exist/, { SVC_DATABASE: "here.db" }],
    [["backup", "copy.db"], /svc-data cannot be used: it does not exist; name the database with --database/],
    [["restore", "copy.db"], /copy\.db cannot be used: it does not exist/],
    [["seed", "seed.json", "--database", "seed.json"], /already exists/],
    [["call", "me.get"], /cannot be reached/, { SVC_URL: "http://127.0.0.1:1", SVC_API_KEY: "sk_live_demo" }],
  ]);
});

test("the help of dev and start shows that mode's options without naming it, and start's default", async () => {
  const help = async (mode: string) => (await runHere([mode, "--help"])).stdout.replaceAll(/\s+/g, " ");
  const [dev, start] = [await help("dev"), await help("start")];
  assert.match(dev ?? "", /--clock=.* a speed such as `60x`\. /);
  assert.doesNotMatch(dev ?? "", /\(`dev`\)|svc-data/);
  assert.match(start ?? "", /The default of `svc-server start` is `\.\/svc-data`\./);
});

test("the program ends with that code, explains it on stderr only, and checks the key that login reads", (t) => {
  const { folder } = userFolder(t);
  const env = { XDG_CONFIG_HOME: folder, APPDATA: folder, SVC_URL: "http://127.0.0.1:1" };
  const cases: [words: string[], input: string, code: number, sentence: RegExp][] = [
    [
      ["dev", "--prot", "1"],
      "",
      2,
      /^svc-server: unknown option --prot; did you mean --port\?\nSee svc-server dev --help\.\n$/,
    ],
    [["login"], "two words", 2, /the key on stdin must be sk_live_…, on one line/],
    [
      ["login", "--url", "ftp://a"],
      "sk_live_demo",
      2,
      /option --url must be an http or https URL such as http:\/\/127/,
    ],
    [["login"], "sk_live_demo", 1, /cannot be reached/],
  ];
  for (const [words, input, code, sentence] of cases) {
    const { status, stdout, stderr } = run(words, folder, { ...env, input });
    assert.deepEqual([status, stdout], [code, ""], stderr);
    assert.match(stderr, sentence);
  }
  assert.deepEqual(readdirSync(folder), [], "no profile was kept");
});

test("a start that creates a database prints its full path, and the next start does not", async (t) => {
  const { folder } = userFolder(t);
  const database = join(folder, "deep/svc.db");
  const first = await launch(t, ["start", "--port", "0", "--database", "deep/svc.db"], folder);
  assert.ok(existsSync(database));
  assert.match(first.errors(), /"a new database was made","database":"[^"]*deep\/svc\.db"/);
  await first.stop();
  const second = await launch(t, ["start", "--port", "0", "--database", database]);
  assert.doesNotMatch(second.errors(), /was made/);
  const { banner } = await import("../../bin/banner.ts");
  const about = { ...first, mode: "start", options: { database }, warnings: [], color: false } as const;
  assert.ok(banner({ ...about, isNew: true }).includes(`${database} (new)`));
  assert.ok(banner({ ...about, isNew: false }).includes(`${database}\n`));
  assert.match(banner({ ...about, isNew: true }), /API key +sk_live_\w+ \(shown only now\)\n/);
  const inMemory = { ...about, mode: "dev", isNew: false, options: { database: ":memory:" } } as const;
  assert.doesNotMatch(banner(inMemory), /shown only now/);
});

const examples = { text: "word", number: "7", switch: "true", list: "one, two", json: '{"a":{"b":1}}' };
const read = { text: "word", number: 7, switch: true, list: ["one", "two"], json: { a: { b: 1 } } };

test("every option with a text form is set by its variable, which overrides the file and not the flag", (t) => {
  const { folder, file } = userFolder(t);
  const set = (name: string, value: string) => {
    process.env[name] = value;
    t.after(() => delete process.env[name]);
  };
  const silent = allOptions.flatMap(({ format, path }) => (format === undefined ? path : []));
  assert.equal(silent.join(" "), "mode deployments.driver generations.driver mail.transport timers transport logger");
  const at = (path: string, args = {}) =>
    path
      .split(".")
      .reduce<unknown>((tree, name) => (tree as Record<string, unknown>)?.[name], configuration("dev", args).options);
  for (const option of allOptions) {
    const { path, format } = option;
    if (format === undefined || format === "file") continue;
    set(variableOf(option), examples[format]);
    assert.deepEqual(at(path), read[format], path);
  }
  file("seed.json", '{"organizations":[]}');
  set("SVC_SEED", join(folder, "seed.json"));
  assert.deepEqual(at("seed"), { organizations: [] });
  set("SVC_HOST", "::1");
  set(
    "SVC_CONFIG",
    join(folder, file("file.json", '{"host":"127.0.0.2","port":7,"deployments":{"concurrency":1},"bodyLimit":5}')),
  );
  const { host, port } = configuration("dev", {});
  assert.deepEqual([host, port, at("deployments.concurrency"), at("bodyLimit")], ["::1", 7, 7, 7]);
  assert.equal(at("envelope", { envelope: "full" }), "full");
  set("SVC_ENVELOPE", "");
  assert.equal(at("envelope"), undefined, "an empty variable is none");
});
