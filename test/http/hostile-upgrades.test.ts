import assert from "node:assert/strict";
import { test } from "node:test";
import { get, inFrontOf, upgrade } from "../helpers/raw-app.ts";
import { statusesIn } from "../helpers/raw-sockets.ts";

const empty = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

test("an app that sends interim answers without end to an upgrade loses it", async (t) => {
  const { ask } = await inFrontOf(t, (socket, received) => {
    const [, status, count] = /^GET \/(\d+)\/(\d+) /.exec(received) ?? [];
    socket.end(`HTTP/1.1 ${status} Interim\r\n\r\n`.repeat(Number(count)) + empty);
  });
  for (const status of [100, 103]) {
    assert.deepEqual(statusesIn(await ask(get(`/${status}/1000`, upgrade))), [200]);
    assert.deepEqual(statusesIn(await ask(get(`/${status}/5000`, upgrade))), [502]);
  }
});
