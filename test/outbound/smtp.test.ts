import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import type { OutgoingMail } from "../../lib/drivers/mail/contract.ts";
import { createSmtpMailer, type SmtpSettings } from "../../lib/drivers/mail/smtp.ts";
import { certificate } from "../helpers/certificates.ts";
import { mailServer } from "../helpers/mail-server.ts";

const mail: OutgoingMail = {
  messageId: "<mail_1@svc.test>",
  from: "Möwe <svc@svc.test>",
  to: "ada@example.com",
  subject: "You are invited",
  text: "Welcome",
  html: "<p>Welcome</p>",
  date: new Date(0),
};
const secret = "sk_live_demo_owner";
const send = (url: string, more: Partial<SmtpSettings> = {}) => createSmtpMailer({ url, ...more }).send(mail);
const localhost = certificate();

const failure = async (url: string, more: Partial<SmtpSettings> = {}) => {
  const handed = await send(url, more);
  assert.equal(handed.kind, "failed");
  const { error } = handed as { error: string };
  assert.ok(!error.includes(secret) && !error.includes(Buffer.from(secret).toString("base64")), error);
  return error;
};

test("STARTTLS is used where the server offers it, and the certificate must fit", async (t) => {
  const server = await mailServer(t, { hideSTARTTLS: false, ...localhost });
  const url = `smtp://ada:right@localhost:${server.port}`;
  assert.deepEqual(await send(url, { ca: [localhost.cert] }), { kind: "sent" });
  assert.deepEqual([server.received[0]?.secure, server.received[0]?.user], [true, "ada"]);
  assert.match(
    await failure(url),
    /the certificate of the mail server localhost:\d+ was not accepted: self-signed.*; .*NODE_EXTRA_CA_CERTS, or set mail\.insecure$/,
  );
  const other = certificate({ names: ["mail.example.com"] });
  const misnamed = await mailServer(t, { hideSTARTTLS: false, ...other });
  const at = `smtp://localhost:${misnamed.port}`;
  assert.match(await failure(at, { ca: [other.cert] }), /was not accepted: Hostname\/IP does not match/);
  assert.deepEqual(await send(at, { insecure: true }), { kind: "sent" });
});

test("the name of a sender is sent whole, in whatever form it is written", async (t) => {
  const server = await mailServer(t, {});
  const mailer = createSmtpMailer({ url: `smtp://localhost:${server.port}` });
  for (const [from, header] of [
    ['"Acme, Inc." <svc@example.com>', '"Acme, Inc." <svc@example.com>'],
    ["Acme, Inc. <svc@example.com>", '"Acme, Inc." <svc@example.com>'],
    ["Example (Ops) <svc@example.com>", '"Example (Ops)" <svc@example.com>'],
    ["svc@example.com (Ops)", "Ops <svc@example.com>"],
    ["<svc@example.com>", "svc@example.com"],
  ] as const) {
    assert.deepEqual(await mailer.send({ ...mail, from }), { kind: "sent" });
    const { from: sender, text } = server.received.pop() ?? assert.fail(from);
    assert.deepEqual([sender, /^From: (.*)$/m.exec(text)?.[1]?.trim()], ["svc@example.com", header]);
  }
});

test("smtps:// is TLS from the start", async (t) => {
  const server = await mailServer(t, { secure: true, ...localhost });
  const url = `smtps://localhost:${server.port}`;
  assert.deepEqual(await send(url, { ca: [localhost.cert] }), { kind: "sent" });
  assert.match(await failure(url), /certificate/);
});

test("a server beyond loopback needs STARTTLS, and gets neither password nor mail without it", async (t) => {
  const server = await mailServer(t, { disabledCommands: ["STARTTLS"] }, "0.0.0.0");
  // The address 0.0.0.0 is not loopback, but reaches this machine.
  const url = `smtp://ada:${secret}@0.0.0.0:${server.port}`;
  assert.match(await failure(url), /offers no TLS \(STARTTLS\): 5\d\d .*set mail\.insecure to send without it/);
  assert.deepEqual(await send(url.replace(secret, "right"), { insecure: true }), { kind: "sent" });
});

test("wrong credentials: a sentence without them, also where the server repeats them", async (t) => {
  const server = await mailServer(t, {
    onAuth: ({ password }, _session, ended) => ended(new Error(`${password} is wrong for ada`)),
  });
  const url = `smtp://ada:${secret}@127.0.0.1:${server.port}`;
  assert.match(await failure(url), /refused the sign-in: 535 \[redacted\] is wrong for ada; correct user and password/);
  assert.match(await failure(url.replace(secret, "pass1")), /535 \[redacted\] is wrong for ada/, "a short one too");
  await assert.rejects(createSmtpMailer({ url }).verify(), /refused the sign-in/);
  await createSmtpMailer({ url: `smtp://127.0.0.1:${server.port}` }).verify();
  assert.equal(server.received.length, 0);
});

/** A TCP server in place of a mail server. */
async function rawServer(t: TestContext, answer: (socket: Socket) => void): Promise<string> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket.on("error", () => {}));
    answer(socket);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("a server that hangs, closes, answers nonsense or is not there is a failed try", async (t) => {
  const short = { timeout_ms: 200 };
  const silent = await rawServer(t, () => {});
  assert.match(await failure(silent, short), /did not answer in time$/);
  const stuck = await rawServer(t, (socket) => socket.write("220 hello\r\n"));
  assert.match(await failure(stuck, short), /did not answer in time$/);
  assert.match(await failure(await rawServer(t, (socket) => socket.end())), /could not be reached/);
  assert.match(await failure(await rawServer(t, (socket) => socket.end("HTTP/1.1 400 Bad\r\n\r\n"))), /HTTP\/1\.1 400/);
  assert.match(await failure("smtp://127.0.0.1:1"), /could not be reached: .*ECONNREFUSED/);
});

test("the end of the service cuts a try off, which then does not count", async (t) => {
  let arrived = () => {};
  const connected = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const url = await rawServer(t, () => arrived());
  const mailer = createSmtpMailer({ url });
  const handed = mailer.send(mail);
  await connected;
  mailer.close();
  assert.deepEqual(await handed, { kind: "cut off" });
});

test("a missing nodemailer is named, and the rest of the service runs without it", () => {
  const script = `
    import { register } from "node:module";
    import { createSmtpMailer } from "./lib/drivers/mail/smtp.ts";
    const hook = \`export function resolve(name, context, next) {
      if (name.startsWith("nodemailer")) throw new Error("Cannot find package");
      return next(name, context);
    }\`;
    register("data:text/javascript," + encodeURIComponent(hook));
    console.log(JSON.stringify(await createSmtpMailer({ url: "smtp://127.0.0.1:1" }).send({})));`;
  const words = ["--import", "tsx", "--input-type=module", "-e", script];
  const { kind, error } = JSON.parse(execFileSync(process.execPath, words, { encoding: "utf8" }));
  assert.deepEqual([kind, error], ["failed", 'the package nodemailer is not installed. Run "npm install nodemailer".']);
});
