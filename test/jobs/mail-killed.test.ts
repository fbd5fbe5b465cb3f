import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { kill, linesOf, startChild } from "../helpers/child-processes.ts";
import { mailServer } from "../helpers/mail-server.ts";
import { folderOf } from "../helpers/temporary-store.ts";
import { expect, type World, world } from "../helpers/test-service.ts";

const mailsOf = async (here: World) => expect(await here.call("nobody", "GET", "/_svc/mail"), 200).data;

test("a kill between the commit of an invitation and the hand-over of its mail loses no mail and doubles none", async (t) => {
  // The mail server accepts the connection but never greets: the invitation is committed, its mail is not sent.
  const silent = createServer((socket: Socket) => socket.on("error", () => {}));
  await once(silent.listen(0, "127.0.0.1"), "listening");
  t.after(() => silent.close());
  const database = join(folderOf(t), "svc.db");
  const connected = once(silent, "connection");
  const url = `smtp://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const child = await startChild(database, "invite", {}, url);
  const lines = linesOf(child, () => false);
  await connected;
  await kill(child);
  await lines;

  const clock = `manual@${new Date(Date.now() + 1000).toISOString()}`;
  const server = await mailServer(t);
  const mail = { url: `smtp://127.0.0.1:${server.port}` };
  const after = await world(t, { database, clock, mail, outbound: { send: true } });
  const [left] = await mailsOf(after);
  assert.deepEqual([left.to, left.status, left.attempts], ["bob@acme.test", "pending", []]);
  await after.service.settle();
  await after.service.clock.advance("1d");
  assert.equal(server.received.length, 1);
  assert.ok(server.received[0]?.text.includes(`Message-ID: ${left.message_id}`));
  const [sent, ...more] = await mailsOf(after);
  assert.deepEqual([sent.status, sent.message_id, more], ["sent", left.message_id, []]);
  // Another start sends nothing.
  await after.service.close();
  const later = await world(t, { database, mail, outbound: { send: true } });
  await later.service.settle();
  assert.equal(server.received.length, 1);
});
