import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { configuration } from "../../bin/server-options.ts";
import { allOptions, variableOf } from "../../lib/config/parse-options.ts";
import { launch, run } from "../program.ts";
import { person, refused } from "../refusals.ts";

test("options that are wrong end with 2, under the name of what set them, and what would be right", async (t) => {
  const here = person(t);
  const { file } = here;
  const role = '{"organizations":[{"name":"x","users":[{"name":"A","email":"a@b.test","role":"boss"}]}]}';
  await refused(here, 2, [
    [["dev", "--prot", "1"], /unknown option --prot; did you mean --port\?/],
    [["dev", "--port"], /--port needs a value/],
    [["dev", "--port", "65536"], /option --port must be a whole number from 0 to 65535/],
    [["dev"], /SVC_PORT must be a whole number from 0 to 65535/, { SVC_PORT: "70000" }],
    [["dev", "extra"], /unexpected word "extra"/],
    [["dev", "--envelope", "round"], /option --envelope must be flat or full/],
    [["dev", "--clock", "yesterday"], /option --clock must be real, manual/],
    [["dev", "--key", "sk_test_x"], /option --key must be sk_live_/],
    [["dev", "--rate-limit", "-1"], /option --rate-limit must be a whole number from 0 to 1000000000/],
    [["dev"], /SVC_RATE_LIMIT must be a whole number from 1/, { SVC_RATE_LIMIT: "none" }],
    [["dev"], /SVC_BEHIND_PROXY must be true or false/, { SVC_BEHIND_PROXY: "maybe" }],
    [
      ["dev"],
      /SVC_GENERATIONS_BACKENDS is not JSON: see line 1, column 6/,
      { SVC_GENERATIONS_BACKENDS: '{"a" "hush"}' },
    ],
    [["start", "--clock", "manual"], /option --clock must be real in the mode start/],
    [["start", "--host", "0.0.0.0"], /set --public-url, or --behind-proxy/],
    [["dev", "--database", "postgres://x"], /no PostgreSQL store yet/],
    [["dev", "--seed", "none.json"], /the seed file none\.json cannot be read/],
    [["dev", "--seed", file("a.json", '{\n  "organizations": [,]\n}')], /is not JSON: see line 2, column 21/],
    [["dev", "--seed", file("b.json", role)], /organizations\.0\.users\.0\.role must be/],
    [["dev", "--config", file("c.json", '{"colour":"blue"}')], /c\.json: option colour is not known here/],
    [
      ["dev", "--config", file("e.json", '{"deployments.concurrency":1}')],
      /e\.json: option deployments\.concurrency is not known here; nest it: \{"deployments":\{"concurrency":…\}\}/,
    ],
    [
      ["dev", "--config", file("d.json", '{"deployments":{"concurrency":0}}')],
      /d\.json: option deployments\.concurrency must/,
    ],
  ]);
});

test("wrong words of any other command end with 2, and one sentence that says what would be right", async (t) => {
  const here = person(t);
  here.file("b.json", '{"organizations":[{"name":""}]}');
  here.file("wrong.json", '{"colour":"blue"}');
  const users = [
    { name: "A", email: "a@b.test", role: "boss" },
    { name: "B", email: "A@b.test", role: "owner" },
  ];
  const integrations = [{ type: "chat", config: {} }];
  const organizations = [{ name: "x", colour: 1, size: 2, users, integrations }, { name: "y" }, {}];
  here.file("many.json", JSON.stringify({ organizations }));
  await refused(here, 2, [
    [["cal"], /no command is called cal; did you mean call\?\nSee svc-server --help/],
    [["nonsense"], /no command is called nonsense; the commands are dev, start, exec, call/],
    [["keys"], /svc-server: keys needs a command; the commands are keys create, keys list, keys revoke/],
    [["keys", "lst"], /no command is called keys lst; did you mean keys list\?\nSee svc-server keys --help/],
    [["deployments", "list"], /no command is called deployments list; write svc-server call deployments\.list/],
    [["keys", "create", "--scopes", "everything"], /"everything" is none of/],
    [["keys", "create", "--rate-limit", "-1"], /option --rate-limit must be a whole number from 0/],
    [["keys", "create", "--expires-at", "2020-01-01T00:00:00Z"], /option --expires-at must be in the future/],
    [["keys", "create", "--expires-at", "2027-02-30T00:00:00Z"], /option --expires-at must be an instant such as/],
    [["keys", "list", "--database", ":memory:"], /option --database must be a file/],
    [["keys", "revoke"], /Missing required positional argument: ID/],
    [["mail", "extra"], /unexpected word "extra"/],
    [["backup"], /Missing required positional argument: FILE/],
    [["backup", "copy.db", "--databse", "x"], /did you mean --database\?/],
    [["restore"], /Missing required positional argument: FILE/],
    [["restore", "a.db", "b.db"], /unexpected word "b\.db"/],
    [["seed"], /Missing required positional argument: FILE/],
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
    [["call"], /Missing required positional argument: OPERATION/],
    [["users", "lst"], /did you mean users\.list\?/],
    [["deployments", "logs"], /Missing required positional argument: ID/],
    [["openapi", "--envelope", "round"], /option --envelope must be flat or full/],
    [["exec", "npm", "test"], /the command comes after --, such as: svc-server exec -- npm test/],
    [["exec", "--"], /the command comes after --/],
    [["exec", "--clok", "manual", "--", "true"], /unknown option --clok; did you mean --clock\?/],
    [["exec", "--port", "1", "--", "true"], /unknown option --port/],
    [["exec", "--clock", "never", "--", "true"], /option --clock must be/],
    [["clock", "advance"], /give a duration or --to: svc-server clock advance 2h/],
    [["clock", "advance", "2h", "--to", "2027-01-01T00:00:00Z"], /give a duration or --to/],
    [["clock", "advance", "2"], /"2" is not a duration; write one such as 2h or 2h42m30s/],
    [["clock", "advance", "--to", "noon"], /option --to must be an instant such as 2027/],
    [["clock", "advnce"], /no command is called clock advnce; did you mean clock advance\?/],
    [["clock", "--url", "http://127.0.0.1:1", "advance", "2h"], /unexpected word "advance"/],
    [["clock"], /SVC_URL must be an http or https URL/, { SVC_URL: "ftp://a" }],
    [["snapshots"], /snapshots needs a command; the commands are snapshots create, snapshots restore/],
    [["snapshots", "restore"], /Missing required positional argument: ID/],
    [["reset", "all"], /unexpected word "all"/],
    [["trigger"], /Missing required positional argument: EVENT/],
    [
      ["trigger", "deployment.faild"],
      /no event is called "deployment\.faild"; did you mean deployment\.failed\? There are deployment\.queued, .*, user\.removed$/m,
    ],
    [["trigger", "x"], /no event is called "x"; there are deployment\.queued, (\w+\.\w+, ){7}user\.removed$/m],
    [["call", "projects.get"], /projects\.get needs id: svc-server call projects\.get proj_…/],
    [["call", "webhooks.redeliver", "wh_1"], /needs dlv: svc-server call webhooks\.redeliver wh_… dlv_…/],
    [["keys", "list", "--database", ":memory:"], /belongs to its server alone: .*svc-server call keys\.create name=ci/],
    [["doctor", "--config", "wrong.json"], /wrong\.json: option colour is not known here/],
    [["doctor", "--config", "none.json"], /the configuration file none\.json cannot be read/],
    [
      ["seed", "many.json"],
      /because of 6 mistakes:\n {2}organizations\.0\.colour is.*\n {2}organizations\.0\.size is[\s\S]*organizations\.2\.name is required/,
    ],
    [["dev", "--seed", "many.json"], /\n {2}organizations\.0\.users\.0\.role must be owner, admin/],
    [
      ["seed", "many.json"],
      /\n {2}organizations\.0\.users\.1\.email must be unique; organizations\.0\.users\.0\.email/,
    ],
    [["seed", "many.json"], /\n {2}organizations\.0\.integrations\.0\.config\.webhook_url is required\n/],
    [["listen"], /option --forward-to must be a URL/],
    [["doctor", "--port", "x"], /option --port must be a whole number/],
    [["completion", "cmd"], /the shell must be one of bash, zsh, fish/],
  ]);
});

test("right words that the world refuses end with 1, and make nothing", async (t) => {
  const here = person(t);
  here.file("seed.json", '{"organizations":[{"name":"x"}]}');
  await refused(here, 1, [
    [
      ["keys", "list"],
      /svc-data cannot be used: it does not exist; .* has no file: .*svc-server call keys\.create name=ci/,
    ],
    [["keys", "create"], /A server in memory \(svc-server dev\) has no file: svc-server call keys\.create name=ci/],
    [["keys", "create", "--database", "far/none.db"], /far\/none\.db cannot be used: it does not exist/],
    [["keys", "list"], /here\.db cannot be used: it does not exist/, { SVC_DATABASE: "here.db" }],
    [["mail"], /it does not exist/],
    [["backup", "copy.db"], /svc-data cannot be used: it does not exist; name the database with --database/],
    [["restore", "copy.db"], /copy\.db cannot be used: it does not exist/],
    [["seed", "seed.json", "--database", "seed.json"], /already exists/],
    [["call", "me.get"], /cannot be reached/, { SVC_URL: "http://127.0.0.1:1", SVC_API_KEY: "sk_live_demo" }],
  ]);
});

test("the program ends with that code, tells it on stderr alone, and judges the key that login reads", (t) => {
  const { folder } = person(t);
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

test("a start that makes a database says so with its whole path, and the next one does not", async (t) => {
  const { folder } = person(t);
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
  const dev = (options: object) => banner({ ...about, mode: "dev", isNew: false, options });
  assert.match(dev({}), /Deliveries +stay on this machine .* the inbox catches the rest \(--send lets it out\)/);
  assert.match(dev({ outbound: { send: true } }), /Deliveries +leave for the world \(--send\)/);
  assert.doesNotMatch(banner({ ...about, isNew: false }), /Deliveries/);
});

const examples = { text: "word", number: "7", switch: "true", list: "one, two", json: '{"a":{"b":1}}' };
const read = { text: "word", number: 7, switch: true, list: ["one", "two"], json: { a: { b: 1 } } };

test("every option that text can say is set by its variable, under the flag and over the file", (t) => {
  const { folder, file } = person(t);
  const set = (name: string, value: string) => {
    process.env[name] = value;
    t.after(() => delete process.env[name]);
  };
  const silent = allOptions.filter(({ format }) => format === undefined).map(({ path }) => path);
  assert.deepEqual(silent, ["mode", "deployments.driver", "generations.driver", "transport", "logger"]);
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
