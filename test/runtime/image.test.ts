import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { chownSync, copyFileSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type TestContext, test } from "node:test";
import { containerEngine, found, noEngine } from "../helpers/container-engine.ts";
import { hostImage, print } from "../helpers/host-image.ts";
import { temporaryFolder } from "../helpers/program.ts";
import { isLong } from "../helpers/properties.ts";

const megabyte = 1_000_000;
const docker = (...words: readonly string[]) => print("docker", words).trim();
/** A container without a network, since this engine has none; calls come from inside it. */
const run = (...words: readonly string[]) => ["run", "--network", "none", "--env", "SVC_BEHIND_PROXY=true", ...words];
/** The exit code and stderr of a container that refuses to start. */
const refused = (...words: readonly string[]) => {
  const { status, stderr } = spawnSync("docker", run("--rm", ...words), { encoding: "utf8" });
  return `${status} ${stderr}`;
};

/** Builds the image of the hosting page on this machine's Node. */
function build(t: TestContext): void {
  const folder = temporaryFolder(t);
  const [base, context] = [join(folder, "base"), join(folder, "image")];
  for (const one of [base, context]) mkdirSync(one);
  const [{ filename }] = JSON.parse(print("npm", ["pack", "--json", "--silent", "--pack-destination", context]));
  hostImage(base, join(context, filename));
  print("sh", ["-c", 'tar -cf - -C "$1" . | docker import - base', "sh", base]);
  copyFileSync("fixtures/hosting/Containerfile", join(folder, "Containerfile"));
  const words = ["--network", "none", "--build-arg", "BASE=base", "--file", join(folder, "Containerfile")];
  docker("build", ...words, "--tag", "svc-server", context);
}

/** Starts a container; returns its first JSON line and the time from its start to that line. */
async function started(t: TestContext, name: string, words: readonly string[]) {
  docker(...run("--detach", "--name", name, "--env", "SVC_JSON=true", ...words));
  const logs = spawn("docker", ["logs", "--follow", "--timestamps", name], { stdio: ["ignore", "pipe", "ignore"] });
  t.after(() => void logs.kill("SIGKILL"));
  for await (const line of createInterface({ input: logs.stdout })) {
    const [time = "", text = ""] = line.split(/ (.*)/);
    logs.kill("SIGKILL");
    const at = docker("inspect", "--format", "{{.State.StartedAt}}", name);
    return { first: JSON.parse(text), milliseconds: Date.parse(time) - Date.parse(at) };
  }
  throw new Error(`${name} ended without a line`);
}

/** Calls the service inside a container; returns the status. */
function call(name: string, path: string, key = ""): string {
  const code = `fetch("http://127.0.0.1:7400${path}", { headers: { authorization: "Bearer ${key}" } }).then(({ status }) => console.log(status))`;
  return docker("exec", name, "node", "-e", code);
}

const skip = noEngine || (found("docker") === "" && "docker is not installed") || (!isLong && "TEST_LONG=1 runs it");

test("the image starts without root on a read-only file system, keeps its volume, and refuses what would lose it", {
  skip,
}, async (t) => {
  const engine = await containerEngine(t);
  build(t);
  const [unpacked, node] = [
    Number(docker("inspect", "--format", "{{.Size}}", "svc-server")),
    statSync(process.execPath).size,
  ];
  // Registries store compressed layers, so this is the size of a pull.
  const pulled = Number(print("sh", ["-c", "docker save svc-server | gzip | wc -c"])) / megabyte;
  const [whole, ofNode] = [unpacked, node].map((bytes) => Math.round(bytes / megabyte));
  t.diagnostic(`the image has ${whole} MB, ${ofNode} of it Node, and ${Math.round(pulled)} MB compressed`);
  assert.ok(unpacked - node < 25 * megabyte, `${unpacked} bytes`);
  assert.ok(pulled < 60, `${pulled} MB`);

  assert.match(refused("svc-server"), /^2 svc-server: \/data is no volume, .* add --volume svc-data:\/data/);
  assert.match(refused("--user", "0", "svc-server"), /^2 svc-server: the container runs as root, and need not/);
  const foreign = temporaryFolder(t);
  const mounted = ["--volume", `${foreign}:/data`];
  assert.match(refused(...mounted, "svc-server"), /^2 svc-server: the user 1000 may not write .* run chown 1000:1000/);
  chownSync(foreign, 1000, 1000);
  assert.match(refused("--env", "SVC_BEHIND_PROXY=", ...mounted, "svc-server"), /^2 .*set --public-url, or --behind-/);
  assert.equal(docker(...run("--rm", "svc-server", "--version")), docker(...run("--rm", "svc-server", "-v")));

  const volume = ["--read-only", "--volume", "svc-data:/data", "svc-server"];
  const { first, milliseconds } = await started(t, "one", volume);
  t.diagnostic(`the service listened ${milliseconds} ms after the start of its container`);
  assert.equal(first.event, "listening");
  const key =
    'const { mode, uid } = fs.statSync("/data/svc-data.key"); console.log(process.getuid(), uid, mode & 0o777)';
  assert.equal(docker("exec", "one", "node", "-e", key), `1000 1000 ${0o600}`);
  assert.equal(call("one", "/v1/me", first.api_key), "200");
  const [{ Healthcheck }] = JSON.parse(docker("inspect", "--format", "[{{json .Config}}]", "one"));
  docker("exec", "one", ...Healthcheck.Test.slice(1));
  docker("exec", "one", "svc-server", "backup", "/data/copy.db");
  docker("stop", "one");
  assert.equal(docker("inspect", "--format", "{{.State.ExitCode}}", "one"), "0");

  // The volume holds the organization already, so the key is not shown again.
  const again = await started(t, "two", volume);
  assert.equal(again.first.api_key, null);
  assert.equal(call("two", "/v1/me", first.api_key), "200");

  // The emulator stores nothing.
  const [, words] = /SVC_COMMAND: (.*)/.exec(readFileSync("fixtures/recipes/github-actions.yml", "utf8")) ?? [];
  const emulator = await started(t, "emulator", ["--read-only", "--env", `SVC_COMMAND=${words}`, "svc-server"]);
  assert.equal(emulator.first.event, "listening");
  assert.equal(call("emulator", "/v1/me", "sk_live_demo_owner"), "200");
  assert.equal((await engine.containers()).length, 3);
});
