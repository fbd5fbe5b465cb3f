import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { OutgoingMail, SentMail } from "../../lib/index.ts";
import { withSnapshots } from "../helpers/engine.ts";
import { mailServer } from "../helpers/mail-server.ts";
import { temporaryFolder } from "../helpers/program.ts";
import { expect, seed, start, type World, world } from "../helpers/test-service.ts";

const email = "ada@example.com";
const invite = async (here: World, address = email) =>
  expect(await here.call("owner", "POST", "/v1/users/invite", { email: address, role: "developer" }), 201);
const mails = async (here: World): Promise<SentMail[]> =>
  expect(await here.call("nobody", "GET", "/_svc/mail"), 200).data;
const lastMail = async (here: World) => (await mails(here)).at(-1) as SentMail;
const invitation = async (here: World) => expect(await here.call("viewer", "GET", "/v1/invitations"), 200).data[0];
const sends = { outbound: { send: true } } as const;

/** A world with a mail server. */
async function posting(t: TestContext, more: Parameters<typeof world>[1] = {}) {
  const server = await mailServer(t);
  const url = `smtp://127.0.0.1:${server.port}`;
  return { server, here: await world(t, { ...sends, ...more, mail: { url, ...(more.mail as object) } }) };
}

test("a mail is handed over in two parts, and its invitation says so", async (t) => {
  const { server, here } = await posting(t, { publicUrl: "https://svc.example.com" });
  const made = await invite(here);
  assert.deepEqual([made.mail_status, made.mail_error], ["pending", null]);
  assert.equal((await lastMail(here)).status, "pending");
  await here.service.settle();
  const [got] = server.received;
  assert.deepEqual([got?.from, got?.to], ["svc-server@svc.example.com", [email]]);
  const mail = await lastMail(here);
  assert.deepEqual([mail.status, mail.attempts], ["sent", [{ at: start, error: null }]]);
  assert.match(mail.message_id ?? "", /^<mail_\w{26}@svc\.example\.com>$/);
  assert.ok(got?.text.includes(`Message-ID: ${mail.message_id}`));
  for (const part of ["text/plain", "text/html", "Auto-Submitted: auto-generated", mail.token])
    assert.ok(got?.text.replaceAll("=\r\n", "").includes(part), part);
  assert.equal((await invitation(here)).mail_status, "sent");
});

test("the mail of an invitation says who invites whom to what, and until when", async (t) => {
  const { here } = await posting(t);
  expect(await here.call("owner", "PUT", "/v1/organization", { name: "Ärger & <b>Söhne</b>" }), 200);
  await invite(here);
  const { subject, text, html } = await lastMail(here);
  assert.equal(subject, "You are invited to Ärger & <b>Söhne</b>");
  const says = "owner invites you to join Ärger & <b>Söhne</b> as a developer.";
  assert.ok(text.startsWith(`${says}\n\nThe invitation is valid until 8 January 2026, 00:00 UTC.\n`), text);
  assert.match(html ?? "", /to join Ärger &amp; &lt;b&gt;Söhne&lt;\/b&gt; as a developer\./);
});

test("the name of an organization stays one line of its mails", async (t) => {
  const { here } = await posting(t);
  const name = "acme.\r\n\nYour key has leaked:\u2028\u202e reply with it";
  expect(await here.call("owner", "PUT", "/v1/organization", { name }), 200);
  await invite(here);
  const { subject, text } = await lastMail(here);
  assert.equal(subject, "You are invited to acme. Your key has leaked: reply with it");
  assert.match(text, /^owner invites you to join acme\. Your key has leaked: reply with it as a developer\.\n\n/);
  expect(await here.call("owner", "PUT", "/v1/organization", { name: "\u200f" }), 200);
  await invite(here, "bob@example.com");
  assert.equal((await lastMail(here)).subject, "You are invited to (no name)");
});

test("a mail is tried six times, 1 m, 5 m, 30 m, 2 h and 6 h after the one before, with one Message-ID", async (t) => {
  const { server, here } = await posting(t);
  server.refusals.push(...Array.from({ length: 6 }, () => ({ at: "message", code: 451, says: "try later" }) as const));
  await invite(here);
  await here.service.settle();
  for (const wait of ["59s", "1s", "5m", "30m", "2h", "6h", "7h"]) await here.service.clock.advance(wait);
  const mail = await lastMail(here);
  const minutes = mail.attempts.map(({ at }) => (Date.parse(at) - Date.parse(start)) / 60_000);
  assert.deepEqual(minutes, [0, 1, 6, 36, 156, 516]);
  assert.equal(mail.status, "failed");
  for (const { error } of mail.attempts) assert.match(error ?? "", /refused the mail: 451 try later$/);
  assert.equal(server.received.length, 6);
  assert.ok(server.received.every(({ text }) => text.includes(`Message-ID: ${mail.message_id}`)));
  const { mail_status, mail_error } = await invitation(here);
  assert.deepEqual([mail_status, mail_error], ["failed", mail.attempts[5]?.error]);
});

test("greylisting: a recipient that is refused for now gets the mail a minute later", async (t) => {
  const { server, here } = await posting(t);
  server.refusals.push({ at: "recipient", code: 450, says: "4.2.0 greylisted" });
  await invite(here);
  await here.service.settle();
  const { mail_status, mail_error } = await invitation(here);
  assert.equal(mail_status, "pending");
  assert.match(mail_error, /refused the address: 450 4\.2\.0 greylisted$/);
  await here.service.clock.advance("1m");
  const { status, attempts } = await lastMail(here);
  assert.deepEqual([status, attempts.map(({ error }) => error === null)], ["sent", [false, true]]);
  assert.deepEqual((await invitation(here)).mail_error, null);
});

test("an address that is refused for good ends the mail at once; sent again, it is a new mail", async (t) => {
  const { server, here } = await posting(t);
  server.refusals.push({ at: "recipient", code: 550, says: "5.1.1 no such user" });
  const { id } = await invite(here);
  await here.service.clock.advance("1d");
  const { mail_status, mail_error } = await invitation(here);
  assert.equal(mail_status, "failed");
  assert.match(mail_error, /refused the address: 550 5\.1\.1 no such user$/);
  assert.equal((await lastMail(here)).attempts.length, 1);
  assert.equal(server.received.length, 0);
  const again = expect(await here.call("owner", "POST", `/v1/invitations/${id}/resend`), 200);
  assert.deepEqual([again.mail_status, again.mail_error], ["pending", null]);
  await here.service.settle();
  assert.equal((await invitation(here)).mail_status, "sent");
  assert.deepEqual(
    (await mails(here)).map(({ status, invitation_id }) => [status, invitation_id]),
    [
      ["failed", id],
      ["sent", id],
    ],
  );
});

test("the mail of an invitation that was sent again, or revoked, is tried no more", async (t) => {
  const { server, here } = await posting(t);
  server.refusals.push({ at: "message", code: 451, says: "later" });
  const { id } = await invite(here);
  await here.service.settle();
  expect(await here.call("owner", "POST", `/v1/invitations/${id}/resend`), 200);
  expect(await here.call("owner", "DELETE", `/v1/invitations/${id}`), 204);
  await here.service.clock.advance("1d");
  assert.equal(server.received.length, 1);
  assert.deepEqual(
    (await mails(here)).map(({ status, attempts }) => [status, attempts.at(-1)?.error]),
    [
      ["failed", "the invitation was sent again"],
      ["failed", "the invitation was revoked"],
    ],
  );
});

test("a mail whose service ends before the hand-over is handed over by the next start", async (t) => {
  const server = await mailServer(t);
  const database = join(temporaryFolder(t), "svc.db");
  const options = { database, ...sends, mail: { url: `smtp://127.0.0.1:${server.port}` } };
  const before = await world(t, options);
  await invite(before);
  const { message_id } = await lastMail(before);
  await before.service.close();
  assert.equal(server.received.length, 0);
  const after = await world(t, options);
  await after.service.settle();
  assert.ok(server.received[0]?.text.includes(`Message-ID: ${message_id}`));
  assert.equal((await lastMail(after)).status, "sent");
});

test("without a mail server, and in dev without outbound.send, mails are kept", async (t) => {
  const server = await mailServer(t);
  const url = `smtp://127.0.0.1:${server.port}`;
  for (const options of [{}, { mail: { url } }, { ...sends, mail: { url }, strict: true }]) {
    const here = await world(t, options);
    assert.equal((await invite(here)).mail_status, "kept");
    await here.service.settle();
    const { status, message_id, attempts } = await lastMail(here);
    assert.deepEqual([status, message_id, attempts], ["kept", null, []]);
  }
  assert.equal(server.received.length, 0);
});

test("mails that wait are kept once the option mail.url is gone", async (t) => {
  const database = join(temporaryFolder(t), "svc.db");
  const before = await world(t, { database, ...sends, mail: { url: "smtp://127.0.0.1:1" } });
  await invite(before);
  await before.service.close();
  const after = await world(t, { database });
  await after.service.settle();
  assert.equal((await lastMail(after)).status, "kept");
  assert.equal((await invitation(after)).mail_status, "kept");
});

test("a function takes the mails in place of a server, and what it throws is a failed try", async (t) => {
  const caught: OutgoingMail[] = [];
  let error: Error | undefined;
  const here = await world(t, {
    strict: true,
    mail: (mail) => {
      if (error) throw error;
      caught.push(mail);
    },
  });
  await invite(here);
  await here.service.settle();
  const sent = await lastMail(here);
  const { messageId, from, to, subject, text, html } = caught[0] as OutgoingMail;
  assert.deepEqual([messageId, from, to, subject], [sent.message_id, "svc-server@localhost", email, sent.subject]);
  assert.deepEqual([text, html], [sent.text, sent.html]);
  error = new Error("no paper; password=hunter2");
  await invite(here, "bob@example.com");
  await here.service.settle();
  const { status, attempts } = await lastMail(here);
  const says = "the function mail.transport threw: no paper; password=[redacted]";
  assert.deepEqual([status, attempts], ["pending", [{ at: start, error: says }]]);
  error = Object.assign(new Error("no such user"), { responseCode: 550 });
  await here.service.clock.advance("1m");
  assert.equal((await lastMail(here)).status, "failed");
});

test("a fork hands over its own mails, and a muted fork and a preview none", withSnapshots, async (t) => {
  const caught: string[] = [];
  const here = await world(t, { mail: { transport: ({ to }) => caught.push(to) } });
  await invite(here);
  await here.service.preview({ by: "1h" });
  const muted = await here.service.fork({ muted: true });
  t.after(() => muted.close());
  await muted.settle();
  assert.deepEqual(caught, []);
  assert.equal((await muted.mails())[0]?.status, "sent");
  const fork = await here.service.fork();
  t.after(() => fork.close());
  await fork.settle();
  assert.deepEqual(caught, [email]);
});

test("names and addresses with line breaks are refused", async (t) => {
  const { server, here } = await posting(t, { mail: { from: '"Möwe, Co." <svc@example.com>' } });
  for (const address of ["ada@example.com\r\nBcc: eve@example.com", "ada@example.com\nX: y", "a@b.test,eve@b.test"])
    expect(await here.call("owner", "POST", "/v1/users/invite", { email: address, role: "viewer" }), 422);
  const wrong = ["svc@example.com\r\nBcc: eve@example.com", "A\nB <svc@example.com>", "svc", "a@b.test, c@d.test"];
  for (const from of [...wrong, "Team: a@b.test, c@d.test;", "Example <svc@@example.com>", '"A <svc@example.com>'])
    await assert.rejects(world(t, { seed, mail: { from } }), /option mail\.from must be an e-mail address/);
  await invite(here, "ada+x@example.com");
  await here.service.settle();
  assert.deepEqual([server.received[0]?.from, server.received[0]?.to], ["svc@example.com", ["ada+x@example.com"]]);
  assert.match((await lastMail(here)).message_id ?? "", /@example\.com>$/);
});

test("a URL that names no mail server is refused, and not repeated", async (t) => {
  const rest = "://ada:sk_live_demo_owner";
  for (const url of [
    ...["", "mail.example.com", `http${rest}@mail.example.com`, `smtp${rest}@`, `smtp${rest}@a.test/path`],
    ...[`smtp${rest}@a.test?x=1`, `smtp${rest}%@a.test`, `smtp${rest}%0a@a.test`, `smtp${rest}@a.test:99999`],
    ...[`smtp${rest}@a.test\r\n`, `smtp${rest}/x@a.test`, "smtp://:sk_live_demo_owner@a.test"],
  ]) {
    await assert.rejects(world(t, { mail: { url } }), ({ message }: Error) => {
      assert.match(message, /^option mail\.url must be a URL such as smtp:/, url);
      return !message.includes("sk_live");
    });
  }
  await assert.rejects(
    world(t, { mail: { urll: "smtp://a.test" } as object }),
    /mail\.urll .*did you mean mail\.url\?/,
  );
});
