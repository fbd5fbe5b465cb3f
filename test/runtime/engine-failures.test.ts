import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { containerEngine, kinds, lacking } from "../helpers/container-engine.ts";
import { endOf } from "../helpers/deployments.ts";
import { answering, type ImageParts, registry } from "../helpers/image-registry.ts";
import { isLong } from "../helpers/properties.ts";
import { runtimeWorld } from "../helpers/running-apps.ts";
import { expect } from "../helpers/test-service.ts";
import { until } from "../helpers/until.ts";

const host = "production-web.localhost";

const runs = (script: string): ImageParts => ({
  files: { main: `#!/bin/sh\n${script}\n` },
  config: { Cmd: ["/main"], ExposedPorts: { "8000/tcp": {} } },
});

/** A registry that never sends the layers of `slow`; `asked` resolves at the next request for one. */
async function stallingRegistry(t: TestContext) {
  const waiting: (() => void)[] = [];
  const made = await registry(t, ({ url = "" }) => {
    if (!url.startsWith("/v2/slow/blobs/")) return false;
    for (const resolve of waiting.splice(0)) resolve();
    return true;
  });
  made.put("slow", "1", answering("slow"));
  return { ...made, asked: () => new Promise<void>((resolve) => void waiting.push(resolve)) };
}

for (const kind of kinds) {
  const skip = lacking(kind) || (!isLong && "the long form only: TEST_LONG=1");

  test(`${kind}: What fails ends with its reason; the old release serves on, and nothing is left behind`, {
    skip,
  }, async (t) => {
    const engine = await containerEngine(t, kind);
    const { host: place, put } = await registry(t, (asked, response) => {
      const { url = "", headers } = asked;
      if (url === "/v2/" || url.startsWith("/v2/private/")) {
        if (headers.authorization === `Basic ${btoa("reader:s3cret")}` && !url.includes("/wrong/")) return false;
        response.writeHead(401, { "www-authenticate": 'Basic realm="registry"' }).end();
      } else if (url.startsWith("/v2/redirect/"))
        response.writeHead(307, { location: "http://169.254.169.254/" }).end();
      else if (url.startsWith("/v2/liar/manifests/1"))
        response.writeHead(200, { "docker-content-digest": `sha256:${"0".repeat(64)}` }).end();
      else if (url.startsWith("/v2/token/"))
        response.writeHead(401, { "www-authenticate": 'Bearer realm="http://10.1.2.3/token",service="x"' }).end();
      else return false;
      return true;
    });
    put("good", "1", answering("one"));
    put("private/good", "1", answering("private"));
    put("arm", "1", { ...answering("arm"), architecture: process.arch === "arm64" ? "amd64" : "arm64" });
    put("silent", "1", runs("trap '' TERM; while true; do sleep 1; done"));
    put("ends", "1", runs("echo no database; exit 4"));
    const mayNot = runs("mkdir /own || exit 5");
    put("writes", "1", { ...mayNot, config: { ...mayNot.config, User: "1000" } });
    put("nothing", "1", { config: { Cmd: ["/missing"] } });
    put("greedy", "1", runs("x=0123456789abcdef; while true; do x=$x$x; done"));
    const registries = { [place]: { username: "reader", password: "s3cret" } };
    const here = await runtimeWorld(t, {
      deployments: { runtime: "engine", healthTimeout: "10s", appMemory: "64MiB", registries },
    });
    const { id } = await here.project("web");
    const image = (name: string) => ({ type: "image", image_url: `${place}/${name}:1` });
    assert.equal((await here.release(id, image("good"))).status, "active");
    const before = [await engine.containers(), (await engine.images()).length];
    const cases = [
      ["absent", "failed", /has no image absent:1/],
      ["private/wrong/good", "failed", /refuses private\/wrong\/good to reader; correct deployments\.registries/],
      ["redirect/app", "failed", /answers 307, a redirect, which is not followed/],
      ["liar", "failed", /the image cannot be pulled: .*(not found|manifest unknown)/],
      ["token/app", "failed", /names no https URL for its tokens/],
      ["arm", "failed", /the image is for linux\/\w+, and the engine runs linux/],
      ["silent", "rolled_back", /nothing listens on port 8000 of the container, which the variable PORT names/],
      ["ends", "rolled_back", /the app ended with the exit code 4/],
      [
        "writes",
        "rolled_back",
        /can't create directory '\/own': Permission denied\n[\s\S]*exit code 5; the user of the image may not write there: .*\/data/,
      ],
      ["nothing", "rolled_back", /the app could not be started|exit code 127/],
      ["greedy", "rolled_back", /out of memory/],
    ] as const;
    for (const [name, status, reason] of cases) {
      const { id: failed, status: seen } = await here.release(id, image(name));
      const lines = (await here.messages(failed)).join("\n");
      assert.equal(seen, status, lines);
      assert.match(lines, reason);
      assert.doesNotMatch(lines, /s3cret/);
      assert.equal(await here.ask(host), "200 one");
      // The row is updated first; the cleanup follows.
      await until(
        async () => isDeepStrictEqual([await engine.containers(), (await engine.images()).length], before),
        () => here.ask(host),
      );
    }
    const last = await here.release(id, image("private/good"));
    assert.equal(last.status, "active", String(await here.messages(last.id)));
    assert.equal(await here.ask(host), "200 private");
  });

  test(`${kind}: A container that floods its log answers, and its last lines arrive`, {
    skip,
    timeout: 300_000,
  }, async (t) => {
    await containerEngine(t, kind);
    const { host: place, put } = await registry(t);
    const { config, files = {} } = answering("one");
    const { main = "", answer = "" } = files;
    const begin = (lines: string) => main.replace("#!/bin/sh\n", `#!/bin/sh\n(${lines}) &\n`);
    const flood = [
      "while [ ! -e /tmp/quiet ]; do echo flood; done",
      "while [ ! -e /tmp/burst ]; do echo quiet; sleep 0.1; done",
      "i=0; while [ $i -lt 30000 ]; do echo burst; i=$((i + 1)); done; echo the last line; kill $$",
    ].join("; ");
    const asked = answer.replace("/crash)", "/quiet|/burst) touch /tmp$path; answer done ;;\n/crash)");
    put("web", "1", { ...(config && { config }), files: { main: begin(flood), answer: asked } });
    const here = await runtimeWorld(t, { deployments: { runtime: "engine" } });
    const { id } = await here.project("web");
    const released = await here.release(id, { type: "image", repo: undefined, image_url: `${place}/web:1` });
    assert.equal(released.status, "active", String(await here.messages(released.id)));
    await here.printed(id, /^flood$/);
    assert.equal(await here.ask(host, "/quiet"), "200 done");
    await here.printed(id, /^quiet$/);
    assert.equal(await here.ask(host, "/burst"), "200 done");
    await here.printed(id, /^the last line$/);
    assert.equal(await here.ask(host), "200 one");
  });

  test(`${kind}: An abort ends a pull, a build and a rollout at once and leaves nothing`, { skip }, async (t) => {
    const engine = await containerEngine(t, kind);
    const { host: place, put, asked } = await stallingRegistry(t);
    put("base", "1", answering("base"));
    put("silent", "1", runs("trap '' TERM; echo begun; while true; do sleep 1; done"));
    const here = await runtimeWorld(t, { deployments: { runtime: "engine" } });
    const { id } = await here.project("web");
    const begun = asked();
    const pull = await here.deploy(id, { source: { type: "image", image_url: `${place}/slow:1` } });
    await begun;
    expect(await here.call("developer", "POST", `/v1/deployments/${pull.id}/cancel`), 200);

    here.repos.commit("acme/web", { Dockerfile: `FROM ${place}/base:1\nRUN echo begun; sleep 1000\n` });
    const build = await here.deploy(id, { source: { type: "git", repo: "acme/web" } });
    await here.logged(build.id, /^begun$/);
    // Podman does not list build containers.
    assert.equal((await engine.containers()).length, kind === "docker" ? 1 : 0);
    expect(await here.call("developer", "POST", `/v1/deployments/${build.id}/cancel`), 200);

    here.repos.commit("acme/web", { Dockerfile: `FROM ${place}/base:1\nRUN echo some >&2; exit 7\n` });
    const failed = await here.release(id);
    assert.equal(failed.status, "failed");
    assert.match(
      String(await here.messages(failed.id)),
      kind === "docker"
        ? /some.*the build failed: .*returned a non-zero code: 7/
        : /some.*the build failed: .*exit status 7/,
    );

    const rollout = await here.deploy(id, { source: { type: "image", image_url: `${place}/silent:1` } });
    await here.logged(rollout.id, /^Starting a container$/);
    await until(
      async () => (await engine.containers()).length !== 0,
      () => here.messages(rollout.id),
    );
    expect(await here.call("owner", "DELETE", `/v1/projects/${id}`), 204);
    const left = async () => [
      ...(await engine.containers()),
      ...(await engine.images()).filter((name) => !name.includes("base")),
    ];
    await until(
      async () => (await left()).length === 0,
      () => here.call("owner", "GET", "/v1/projects"),
    );
  });

  test(`${kind}: An engine that goes away fails what is under way, and its apps come back with it`, {
    skip,
  }, async (t) => {
    const engine = await containerEngine(t, kind);
    const { host: place, put, asked } = await stallingRegistry(t);
    put("good", "1", answering("one"));
    const here = await runtimeWorld(t, { deployments: { runtime: "engine" } });
    const { id } = await here.project("web");
    const image = (name: string) => ({ type: "image", image_url: `${place}/${name}:1` });
    assert.equal((await here.release(id, image("good"))).status, "active");
    const begun = asked();
    const { id: pull } = await here.deploy(id, { source: image("slow") });
    await begun;
    await engine.stop("SIGKILL");
    const ended = await endOf(here, "viewer", pull);
    assert.equal(ended.status, "failed");
    assert.match(String(await here.messages(pull)), /the engine went away|the engine at .* (went away|is not running)/);
    const refused = await here.release(id, image("good"));
    assert.equal(refused.status, "failed");
    assert.match(String(await here.messages(refused.id)), /the engine at .*docker\.sock is not running/);
    await here.printed(id, /^The engine cannot be reached: /);
    await engine.start();
    await until(
      async () => (await here.ask(host)) === "200 one",
      () => here.messages(pull),
    );
    assert.equal((await here.release(id, image("good"))).status, "active");
  });
}
