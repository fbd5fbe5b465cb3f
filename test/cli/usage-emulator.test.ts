import { test } from "node:test";
import { refuses, userFolder } from "../helpers/cli-refusals.ts";

test("wrong words for the commands of an emulator end with 2, and say what would be right", async (t) => {
  await refuses(userFolder(t), 2, [
    [["exec", "npm", "test"], /the command comes after --, such as: svc-server exec -- npm test/],
    [["exec", "--"], /the command comes after --/],
    [["exec", "--clok", "manual", "--", "true"], /unknown option --clok; did you mean --clock\?/],
    [["exec", "--port", "0", "--", "true"], /unknown option --port$/m],
    [["exec", "--clock", "never", "--", "true"], /option --clock must be/],
    [["clock", "advance"], /give a duration or --to: svc-server clock advance 2h/],
    [["clock", "advance", "2h", "--to", "2027-01-01T00:00:00Z"], /give a duration or --to, not both/],
    [["clock", "advance", "-5s"], /"-5s" must not be negative/],
    [["clock", "advance", "2"], /"2" is not a duration; write one such as 2h or 2h42m30s/],
    [["clock", "advance", "--to", "noon"], /option --to must be an instant such as 2027/],
    [["clock", "advnce"], /no command is called clock advnce; did you mean clock advance\?/],
    [["clock", "--url", "http://127.0.0.1:1", "advance", "2h"], /unexpected word "advance"/],
    [["clock"], /SVC_URL must be an http or https URL/, { SVC_URL: "ftp://a" }],
    [
      ["snapshots", "restor-all"],
      /no command is called snapshots restor-all; the commands are snapshots list, snapshots create, snapshots restore, snapshots remove/,
    ],
    [["snapshots", "restore"], /needs the argument ID/],
    [["reset", "all"], /unexpected word "all"/],
    [["trigger"], /needs the argument EVENT/],
    [
      ["trigger", "deployment.faild"],
      /no event is called "deployment\.faild"; did you mean deployment\.failed\? The events are deployment\.queued, .*, user\.removed$/m,
    ],
    [["trigger", "x"], /no event is called "x"; the events are deployment\.queued, (\w+\.\w+, ){7,}user\.removed$/m],
  ]);
});

test("a missing identifier, a database in memory and a wrong configuration are named with the remedy", async (t) => {
  const here = userFolder(t);
  here.file("wrong.json", '{"colour":"blue"}');
  await refuses(here, 2, [
    [["call", "projects.get"], /projects\.get needs id: svc-server call projects\.get proj_…/],
    [["call", "webhooks.redeliver", "wh_1"], /needs dlv: svc-server call webhooks\.redeliver wh_… dlv_…/],
    [
      ["keys", "list", "--database", ":memory:"],
      /only its own server can use a database in memory: .*svc-server call keys\.create name=ci/,
    ],
    [["doctor", "--config", "wrong.json"], /wrong\.json: option colour is unknown/],
    [["doctor", "--config", "none.json"], /the configuration file none\.json cannot be read/],
  ]);
});

test("a wrong seed is refused with all its mistakes, each with its path", async (t) => {
  const here = userFolder(t);
  const users = [
    { name: "A", email: "a@b.test", role: "boss" },
    { name: "B", email: "A@b.test", role: "owner" },
  ];
  const integrations = [{ type: "chat", config: {} }];
  const organizations = [{ name: "x", colour: 1, size: 2, users, integrations }, { name: "y" }, {}];
  here.file("many.json", JSON.stringify({ organizations }));
  await refuses(here, 2, [
    [
      ["seed", "many.json"],
      /because of 6 mistakes:\n {2}organizations\.0\.colour is an unknown field; the fields are name, plan, users, .*\n {2}organizations\.0\.size is[\s\S]*organizations\.2\.name is required/,
    ],
    [
      ["seed", "many.json"],
      /\n {2}organizations\.0\.users\.1\.email must be unique; organizations\.0\.users\.0\.email/,
    ],
    [["dev", "--seed", "many.json"], /\n {2}organizations\.0\.users\.0\.role must be owner, admin/],
    [["seed", "many.json"], /\n {2}organizations\.0\.integrations\.0\.config\.webhook_url is required\n/],
  ]);
});
