import assert from "node:assert/strict";
import { test } from "node:test";
import type { Service } from "../../lib/index.ts";
import { mailServer } from "../helpers/mail-server.ts";
import { until } from "../helpers/until.ts";
import { call, severalServices } from "./several.ts";

test("of two servers on one database one hands a mail over, once", async (t) => {
  const server = await mailServer(t);
  const url = `smtp://127.0.0.1:${server.port}`;
  const { services, key, ask } = await severalServices(t, 2, { mail: { url }, rateLimit: 0 });
  const count = 40;
  const addresses = Array.from({ length: count }, (_, i) => `guest-${i}@example.com`);
  const made = await Promise.all(
    addresses.map((email, i) =>
      call(services[i % 2] as Service<string | null>, key, "POST", "/v1/users/invite", { email, role: "viewer" }),
    ),
  );
  assert.deepEqual(new Set(made.map(({ status }) => status)), new Set([201]));
  let waiting = count;
  const look = async () => {
    waiting = (await ask("select id from mails where status = 'pending'")).length;
  };
  await until(() => waiting === 0, look);
  const ids = server.received.map(({ text }) => /^Message-ID: (\S+)/im.exec(text)?.[1]).sort();
  const rows = await ask("select message_id, status, attempts from mails order by message_id");
  assert.deepEqual(
    ids,
    rows.map(({ message_id }) => message_id),
  );
  assert.deepEqual([ids.length, new Set(ids).size], [count, count]);
  assert.deepEqual(server.received.flatMap(({ to }) => to).sort(), addresses.sort());
  assert.ok(rows.every(({ status, attempts }) => status === "sent" && JSON.parse(attempts).length === 1));
});
