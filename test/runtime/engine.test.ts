import assert from "node:assert/strict";
import { test } from "node:test";
import { containerEngine, kinds, lacking } from "../helpers/container-engine.ts";
import { endOf } from "../helpers/deployments.ts";
import { answering, debianRegistry, noRegistry, push, registry } from "../helpers/image-registry.ts";
import { isLong } from "../helpers/properties.ts";
import { app, type Running, runtimeWorld } from "../helpers/running-apps.ts";
import { expect } from "../helpers/test-service.ts";
import { until } from "../helpers/until.ts";

const host = "production-web.localhost";

/** Shows the log of a deployment that has failed. */
const becameActive = async (here: Running, { id, status }: { id: string; status: string }) =>
  assert.equal(status, "active", String(await here.messages(id)));

for (const kind of kinds) {
  const skip = lacking(kind) || (!isLong && "the long form only: TEST_LONG=1");

  test(`${kind}: An image is pulled by its digest, runs with limits, answers at its host, and leaves nothing`, {
    skip,
  }, async (t) => {
    const engine = await containerEngine(t, kind);
    const { host: place, put } = await registry(t);
    const first = put("team/web", "1.0", answering("one"));
    const here = await runtimeWorld(t, { deployments: { runtime: "engine" } });
    const { id } = await here.project("web");
    const variables = { GREETING: "hi", TOKEN: { value: "s3cret-value", secret: true } };
    expect(await here.call("developer", "PUT", `/v1/projects/${id}/environments/production`, { variables }), 200);
    const image = (tag: string) => ({ type: "image", image_url: `${place}/team/web:${tag}` });
    const one = await here.release(id, image("1.0"));
    assert.deepEqual([one.status, one.version], ["active", first], String(await here.messages(one.id)));
    assert.equal(await here.ask(host), "200 one");
    const env = await here.ask(host, "/env");
    for (const part of ["GREETING=hi", "TOKEN=s3cret-value", "PORT=8000", "HOST=0.0.0.0", "SVC_ENVIRONMENT=production"])
      assert.ok(env.includes(part), env);
    assert.doesNotMatch(env, /DOCKER_HOST/);

    const status = await here.ask(host, "/status");
    for (const part of [/CapEff:\s0+\s/, /CapPrm:\s0+\s/, /CapBnd:\s0+\s/, /NoNewPrivs:\s1\s/])
      assert.match(status, part);

    // Podman takes no list of hidden paths.
    assert.match(await here.ask(host, "/machine"), kind === "docker" ? /^200 +1024$/ : / 1024$/);

    const [container = ""] = await engine.containers();
    const { HostConfig, NetworkSettings } = await engine.ask(`/containers/${container}/json`);
    const { Memory, PidsLimit, CapDrop, SecurityOpt, ReadonlyRootfs, Privileged, Binds } = HostConfig;
    assert.deepEqual(
      { Memory, PidsLimit, CapDrop, SecurityOpt, ReadonlyRootfs, Privileged },
      {
        Memory: 1024 ** 3,
        PidsLimit: 1024,
        // Podman lists each default capability.
        CapDrop: kind === "docker" ? ["ALL"] : CapDrop,
        SecurityOpt: ["no-new-privileges"],
        ReadonlyRootfs: false,
        Privileged: false,
      },
    );
    // Podman lists the data of the environment here, which is all that the container shares with the machine.
    const shared = (Binds ?? []).map((bind: string) => bind.replace(/^.*\/data\/proj_\w+\//, ""));
    assert.deepEqual(shared, kind === "docker" ? [] : ["of-production:/data:rw,rprivate,rbind"]);
    assert.equal(NetworkSettings.Ports["8000/tcp"][0].HostIp, "127.0.0.1");

    await here.service.close();
    assert.deepEqual([await engine.containers(), await engine.images(), await engine.networks()], [[], [], []]);
  });

  test(`${kind}: A tag that moves is a new digest; a rollback runs what was; a crash costs its time`, {
    skip,
  }, async (t) => {
    await containerEngine(t, kind);
    const { host: place, put } = await registry(t);
    const first = put("team/web", "1.0", answering("one"));
    const here = await runtimeWorld(t, { deployments: { runtime: "engine" } });
    const { id } = await here.project("web");
    const image = (tag: string) => ({ type: "image", image_url: `${place}/team/web:${tag}` });
    await becameActive(here, await here.release(id, image("1.0")));

    const second = put("team/web", "1.0", answering("two"));
    const two = await here.release(id, image("1.0"));
    assert.deepEqual([two.status, two.version, await here.ask(host)], ["active", second, "200 two"]);
    const { id: back } = expect(await here.call("developer", "POST", `/v1/deployments/${two.id}/rollback`), 201);
    const restored = await endOf(here, "viewer", back);
    assert.deepEqual([restored.status, restored.version, await here.ask(host)], ["active", first, "200 one"]);
    assert.ok((await here.messages(back)).includes("The release is still stored, so nothing is built"));
    assert.match(await here.printed(id, /^listening as one$/), /one/);

    // After a crash the restart waits.
    await here.ask(host, "/crash", { method: "POST" });
    // For a moment after a container ends, the engine still accepts its connections; after this line, requests wait.
    assert.match(await here.printed(id, /ended with the exit code 3/), /starts again in 0\.25 s/);
    assert.equal(await here.ask(host), "200 one");
    // This line follows the one about files, if there is any.
    assert.doesNotMatch(await here.printed(id, /are gone|is back/), /are gone/);
  });

  test(`${kind}: An app writes to its own file system, up to deployments.scratch, and the log says that it ends with it`, {
    skip,
  }, async (t) => {
    await containerEngine(t, kind);
    const { host: place, put } = await registry(t);
    put("web", "1", answering("one"));
    const here = await runtimeWorld(t, { deployments: { runtime: "engine", scratch: "4MiB" } });
    const { id } = await here.project("web");
    await becameActive(here, await here.release(id, { type: "image", image_url: `${place}/web:1` }));
    assert.equal(await here.ask(host, "/write"), "200 kept");
    // Podman keeps these files in memory, which counts for the container.
    if (kind === "docker") assert.match(await here.ask(host, "/hosts"), /Read-only file system/);
    assert.equal(await here.ask(host, "/written"), "200 uploads");
    await here.ask(host, "/crash", { method: "POST" });
    assert.match(await here.printed(id, /are gone/), /what has to stay belongs in \/data/);
    assert.equal(await here.ask(host, "/written"), "200 ");
    await here.ask(host, "/fill");
    assert.match(
      await here.printed(id, /deployments\.scratch/),
      /^The app wrote more than deployments\.scratch \(4 MiB\) outside of \/data: .*\/data.* it starts again in/,
    );
    assert.equal(await here.ask(host), "200 one");
  });

  test(`${kind}: A project that is deleted while an earlier release still ends leaves no image`, {
    skip,
  }, async (t) => {
    const engine = await containerEngine(t, kind);
    const { host: place, put } = await registry(t);
    const { files, ...slow } = answering("slow");
    const main = String(files?.["main"]).replace("'kill $server;", "'kill $server; echo ending; sleep 30;");
    put("team/web", "1", { ...slow, files: { ...files, main } });
    put("team/web", "2", answering("two"));
    const here = await runtimeWorld(t, { deployments: { runtime: "engine" } });
    const { id } = await here.project("web");
    const image = (tag: string) => ({ type: "image", image_url: `${place}/team/web:${tag}` });
    await becameActive(here, await here.release(id, image("1")));
    await becameActive(here, await here.release(id, image("2")));
    await here.printed(id, /^ending$/);
    assert.equal((await engine.containers()).length, 2);
    expect(await here.call("owner", "DELETE", `/v1/projects/${id}`), 204);
    await until(
      async () => (await engine.containers()).length === 0,
      () => here.ask(host),
    );
    await until(
      async () => (await engine.images()).length === 0,
      () => here.ask(host),
    );
  });

  test(`${kind}: Debian's registry gives an image that was pushed to it`, { skip: skip || noRegistry }, async (t) => {
    await containerEngine(t, kind);
    const place = await debianRegistry(t);
    const made = await push(place, "team/web", "1.0", answering("one"));
    const here = await runtimeWorld(t, { deployments: { runtime: "engine" } });
    const { id } = await here.project("web");
    const { status, version } = await here.release(id, { type: "image", image_url: `${place}/team/web:1.0` });
    assert.deepEqual([status, version, await here.ask(host)], ["active", made, "200 one"]);
  });

  test(`${kind}: A repository with a Dockerfile is built by the engine, beside one that runs as processes`, {
    skip,
  }, async (t) => {
    const engine = await containerEngine(t, kind);
    const { host: place, put } = await registry(t);
    put("base", "1", answering("base"));
    const here = await runtimeWorld(t, { deployments: { runtime: ["process", "engine"] } });
    const { id } = await here.project("web");
    const commit = here.repos.commit("acme/web", {
      Dockerfile: `FROM ${place}/base:1\nCOPY . /srv\nRUN echo built $(ls /srv) && sed -i s/base/$(cat /srv/version)/ /answer\n`,
      version: "docker",
      "notes.md": "x",
      ".dockerignore": "*.md\n",
      "svc.json": {},
    });
    const built = await here.release(id);
    assert.deepEqual([built.status, built.version], ["active", commit], String(await here.messages(built.id)));
    assert.equal(await here.ask(host), "200 docker");
    assert.ok(
      (await here.messages(built.id)).includes("built Dockerfile svc.json version"),
      String(await here.messages(built.id)),
    );
    here.repos.git("acme/web", "rm", "--quiet", "svc.json", "Dockerfile");
    here.repos.commit("acme/web", app("process"));
    const next = await here.release(id);
    await becameActive(here, next);
    assert.equal(await here.ask(host), "200 process");
    const { id: back } = expect(await here.call("developer", "POST", `/v1/deployments/${next.id}/rollback`), 201);
    const restored = await endOf(here, "viewer", back);
    await becameActive(here, restored);
    assert.equal(await here.ask(host), "200 docker");
    await here.service.close();
    assert.deepEqual([await engine.containers(), await engine.networks()], [[], []]);
    // The engine keeps the base image as its cache.
    const ours = (await engine.images()).filter((name) => !name.includes("/base"));
    assert.deepEqual(ours, []);
  });
}
