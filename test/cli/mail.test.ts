import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { banner } from "../../bin/banner.ts";
import type { Options } from "../../lib/index.ts";
import { foundIn, word } from "../helpers/canaries.ts";
import { certificate } from "../helpers/certificates.ts";
import { runHere as run } from "../helpers/cli-in-process.ts";
import { jsonBearer } from "../helpers/headers.ts";
import { mailServer } from "../helpers/mail-server.ts";
import { launch, temporaryFolder } from "../helpers/program.ts";

test("mail test ADDRESS sends one mail, and doctor signs in and sends none", async (t) => {
  const server = await mailServer(t);
  const folder = temporaryFolder(t);
  const config = join(folder, "config.json");
  const use = (password: string) =>
    writeFileSync(
      config,
      JSON.stringify({ mail: { url: `smtp://ada:${password}@127.0.0.1:${server.port}`, from: "Svc <svc@svc.test>" } }),
    );
  const doctor = async () => {
    const database = join(folder, "svc.db");
    const { stdout } = await run(["doctor", "--json", "--config", config, "--database", database, "--port", "0"]);
    assert.ok(!stdout.includes("sk_live_demo_owner"));
    return (JSON.parse(stdout) as { check: string; ok: boolean; says: string }[]).find(({ check }) => check === "mail");
  };
  use("right");
  assert.deepEqual(await doctor(), {
    check: "mail",
    ok: true,
    says: `127.0.0.1:${server.port} answers and accepts the sign-in`,
  });
  assert.equal(server.received.length, 0);
  const sent = await run(["mail", "test", "ada@example.com", "--config", config]);
  assert.deepEqual([sent.status, sent.stderr], [0, ""]);
  assert.match(sent.stdout, /handed to the mail server, from Svc <svc@svc\.test>/);
  assert.deepEqual(server.received[0]?.to, ["ada@example.com"]);
  use("sk_live_demo_owner");
  const wrong = await doctor();
  assert.equal(wrong?.ok, false);
  assert.match(wrong?.says ?? "", /refused the sign-in/);
  const refused = await run(["mail", "test", "ada@example.com", "--config", config]);
  assert.equal(refused.status, 1);
  assert.match(refused.stderr, /refused the sign-in/);
  assert.ok(!refused.stderr.includes("sk_live_demo_owner"));
  for (const [words, says] of [
    [["mail", "test"], /name an address/],
    [["mail", "tset", "ada@example.com"], /unexpected word "tset"/],
    [["mail", "test", "ada"], /must be an e-mail address/],
    [["mail", "test", "ada@example.com"], /set the option mail\.url/],
  ] as const) {
    const { status, stderr } = await run([...words]);
    assert.equal(status, 2);
    assert.match(stderr, says);
  }
});

test("the fullest log, the mails and the commands hold no password of the mail server, however it fails", async (t) => {
  const folder = temporaryFolder(t);
  const password = `${word()}%2F${word()}`;
  const secrets = { "the password": decodeURIComponent(password), "the password in the URL": password };
  const echoing = await mailServer(t, {
    onAuth: (auth, _, ended) => ended(new Error(`no ${auth.password}; ${encodeURIComponent(auth.password ?? "")}`)),
  });
  const untrusted = await mailServer(t, { hideSTARTTLS: false, ...certificate() });
  for (const [host, why] of [
    [`127.0.0.1:${echoing.port}`, /refused the sign-in/],
    [`localhost:${untrusted.port}`, /the certificate of the mail server localhost:\d+ was not accepted/],
    ["127.0.0.1:1", /could not be reached/],
  ] as const) {
    const url = `smtp://ada:${password}@${host}`;
    const words = ["dev", "--port", "0", "--clock", "manual", "--log-level", "debug", "--send"];
    const server = await launch(t, words, folder, { env: { SVC_MAIL_URL: url } });
    const headers = jsonBearer(server.api_key ?? "");
    const post = async (path: string, body: object) =>
      (await fetch(server.url + path, { method: "POST", headers, body: JSON.stringify(body) })).text();
    const shown = [await post("/v1/users/invite", { email: "bob@acme.test", role: "viewer" })];
    await post("/_svc/clock/advance", { by: "1m" });
    shown.push(await (await fetch(`${server.url}/v1/invitations`, { headers })).text());
    const listed = await run(["mail", "--url", server.url], folder);
    assert.match(listed.stdout, /To: bob@acme\.test .*\(pending, 2 tries: /);
    assert.match(listed.stdout, why);
    shown.push(listed.stdout, listed.stderr, (await run(["mail", "--url", server.url, "--json"], folder)).stdout);
    for (const command of [["doctor"], ["mail", "test", "bob@acme.test"]]) {
      const { stdout, stderr } = await run(command, folder, { SVC_MAIL_URL: url });
      shown.push(stdout, stderr);
    }
    const { rest } = await server.stop();
    assert.match(server.errors(), /a mail could not be sent/);
    for (const text of [...shown, rest.join(), server.errors()]) assert.deepEqual(foundIn(secrets, text), [], text);
  }
});

test("the banner says that mails are not sent, and mail shows that mails are kept", async (t) => {
  const about = { url: "", base_url: "", dashboard_url: null, api_key: null, apps_url: null } as const;
  const bannerFor = (mode: "dev" | "start", options: Options) =>
    banner({ ...about, mode, options, isNew: false, warnings: [], color: false });
  const rowFor = (mode: "dev" | "start", options: Options) => /^ *Mail +(.*)$/m.exec(bannerFor(mode, options))?.[1];
  const mail = { url: "smtp://ada:sk_live_demo_owner@mail.example.com" };
  assert.equal(rowFor("dev", {}), undefined);
  assert.equal(rowFor("start", { mail }), undefined);
  assert.match(rowFor("dev", { mail }) ?? "", /^is kept; .*--send sends it/);
  assert.equal(rowFor("dev", { mail, outbound: { send: true } }), undefined);
  assert.equal(rowFor("dev", { mail: () => {} }), undefined);
  const isKept = / · self-hosted · mail is kept, not sent · /;
  for (const options of [{}, { mail: {} }, { outbound: { send: true } }])
    assert.match(bannerFor("start", options), isKept);
  for (const options of [{ mail }, { mail: () => {} }, { mail: { transport: () => {} } }])
    assert.doesNotMatch(bannerFor("start", options), isKept);

  const server = await launch(t, ["dev", "--port", "0"], temporaryFolder(t));
  const body = JSON.stringify({ email: "bob@acme.test", role: "viewer" });
  await fetch(`${server.url}/v1/users/invite`, { method: "POST", headers: jsonBearer(server.api_key ?? ""), body });
  assert.match((await run(["mail", "--url", server.url])).stdout, /To: bob@acme\.test .*\(kept\)/);
});
