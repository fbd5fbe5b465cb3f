import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { gitHost } from "../helpers/git-host.ts";
import { expect, keyOf } from "../helpers/test-service.ts";

const post = (port: number, service: string, key: string, length: number) =>
  request({
    ...{ port, method: "POST", path: `/git/me/hello.git/${service}` },
    headers: {
      authorization: `Basic ${Buffer.from(`x:${key}`).toString("base64")}`,
      "content-type": `application/x-${service}-request`,
      "content-length": length,
    },
  });

test("a push whose key is deleted before its end stores nothing", async (t) => {
  const here = await gitHost(t);
  const first = here.repos.commit("me/hello", { "index.html": "one" });
  await here.push("me/hello", "owner");
  const second = here.repos.commit("me/hello", { "large.bin": randomBytes(24e6).toString("base64") });
  const pack = execFileSync("git", ["pack-objects", "--stdout", "--revs", "-q"], {
    cwd: join(here.repos.root, "me/hello"),
    input: `${second}\n^${first}\n`,
    maxBuffer: 1e8,
  });
  const command = `${first} ${second} refs/heads/main\0 report-status`;
  const line = `${(command.length + 4).toString(16).padStart(4, "0")}${command}`;
  const body = Buffer.concat([Buffer.from(`${line}0000`), pack]);

  const push = async (key: string, meanwhile: () => Promise<unknown>) => {
    const sending = post(here.port, "git-receive-pack", key, body.length);
    const answered = new Promise<string>((resolve) => {
      sending.on("response", (response) =>
        response.toArray().then(
          (parts) => resolve(Buffer.concat(parts).toString()),
          () => resolve("broken off"),
        ),
      );
      sending.on("error", () => resolve("broken off"));
    });
    // More than sockets hold: once it is written, the server has begun to read.
    await new Promise((resolve) => sending.write(body.subarray(0, 20e6), resolve));
    await meanwhile();
    sending.end(body.subarray(20e6));
    return answered;
  };
  const tip = async () =>
    (await here.run("me/hello", ["ls-remote", here.urlOf("me/hello", keyOf("owner")), "refs/heads/main"])).text;

  const { id, key } = expect(await here.call("owner", "POST", "/v1/api-keys", { name: "short" }), 201);
  assert.doesNotMatch(await push(key, () => here.call("owner", "DELETE", `/v1/api-keys/${id}`)), /unpack ok/);
  assert.match(await tip(), new RegExp(`^${first}`));
  assert.match(await push(keyOf("owner"), async () => {}), /unpack ok/);
  assert.match(await tip(), new RegExp(`^${second}`));
});

test("a fetch whose key is deleted before its end is cut", async (t) => {
  const here = await gitHost(t);
  here.repos.commit("me/hello", { "large.bin": randomBytes(24e6).toString("base64") });
  await here.push("me/hello", "owner");
  const tip = here.repos.git("me/hello", "rev-parse", "main");
  const wants = `0032want ${tip}\n00000009done\n`;
  const fetched = async (key: string, meanwhile: () => Promise<unknown>) => {
    const asking = post(here.port, "git-upload-pack", key, wants.length).end(wants);
    const [response] = (await once(asking, "response")) as [IncomingMessage];
    let bytes = 0;
    try {
      for await (const chunk of response) {
        if (bytes === 0) await meanwhile();
        bytes += chunk.length;
      }
    } catch {
      // It was broken off.
    }
    return bytes;
  };
  const { id, key } = expect(await here.call("owner", "POST", "/v1/api-keys", { name: "short" }), 201);
  assert.ok((await fetched(key, () => here.call("owner", "DELETE", `/v1/api-keys/${id}`))) < 20e6);
  // Clients that go away give their places back: there are sixteen.
  for (let i = 0; i < 20; i++) await fetched(keyOf("owner"), () => Promise.reject(new Error("gone")));
  assert.ok((await fetched(keyOf("owner"), async () => {})) > 24e6);
});
