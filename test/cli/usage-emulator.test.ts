import { test } from "node:test";
import { person, refused } from "../refusals.ts";

test("wrong words of the commands that steer an emulator end with 2, and say what would be right", async (t) => {
  await refused(person(t), 2, [
    [["exec", "npm", "test"], /the command comes after --, such as: svc-server exec -- npm test/],
    [["exec", "--"], /the command comes after --/],
    [["exec", "--clok", "manual", "--", "true"], /unknown option --clok; did you mean --clock\?/],
    [["exec", "--port", "0", "--", "true"], /unknown option --port/],
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
  ]);
});

test("a missing identifier, a database in memory and a wrong configuration are named with the remedy", async (t) => {
  const here = person(t);
  here.file("wrong.json", '{"colour":"blue"}');
  await refused(here, 2, [
    [["call", "projects.get"], /projects\.get needs id: svc-server call projects\.get proj_…/],
    [["call", "webhooks.redeliver", "wh_1"], /needs dlv: svc-server call webhooks\.redeliver wh_… dlv_…/],
    [["keys", "list", "--database", ":memory:"], /belongs to its server alone: .*svc-server call keys\.create name=ci/],
    [["doctor", "--config", "wrong.json"], /wrong\.json: option colour is not known here/],
    [["doctor", "--config", "none.json"], /the configuration file none\.json cannot be read/],
  ]);
});

test("a seed is refused with all its mistakes, each with its place", async (t) => {
  const here = person(t);
  const users = [
    { name: "A", email: "a@b.test", role: "boss" },
    { name: "B", email: "A@b.test", role: "owner" },
  ];
  const integrations = [{ type: "chat", config: {} }];
  const organizations = [{ name: "x", colour: 1, size: 2, users, integrations }, { name: "y" }, {}];
  here.file("many.json", JSON.stringify({ organizations }));
  await refused(here, 2, [
    [
      ["seed", "many.json"],
      /because of 6 mistakes:\n {2}organizations\.0\.colour is.*\n {2}organizations\.0\.size is[\s\S]*organizations\.2\.name is required/,
    ],
    [
      ["seed", "many.json"],
      /\n {2}organizations\.0\.users\.1\.email must be unique; organizations\.0\.users\.0\.email/,
    ],
    [["dev", "--seed", "many.json"], /\n {2}organizations\.0\.users\.0\.role must be owner, admin/],
    [["seed", "many.json"], /\n {2}organizations\.0\.integrations\.0\.config\.webhook_url is required\n/],
  ]);
});
