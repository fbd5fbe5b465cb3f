import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { containerEngine, kinds, lacking } from "../helpers/container-engine.ts";
import { endOf } from "../helpers/deployments.ts";
import { answering, registry } from "../helpers/image-registry.ts";
import { isLong } from "../helpers/properties.ts";
import { runtimeWorld } from "../helpers/running-apps.ts";
import { expect, type Who } from "../helpers/test-service.ts";

const host = "production-web.localhost";

/** A service with two organizations, an engine, and a registry that can close its images. */
async function machine(t: TestContext, kind: (typeof kinds)[number]) {
  const engine = await containerEngine(t, kind);
  const closed = new Set<string>();
  const {
    host: place,
    put,
    putIndex,
  } = await registry(t, ({ url = "" }, response) => {
    const [, name = ""] = /^\/v2\/([^/]+)\//.exec(url) ?? [];
    if (!closed.has(name)) return false;
    response.writeHead(401, { "www-authenticate": 'Basic realm="registry"' }).end();
    return true;
  });
  const here = await runtimeWorld(t, { deployments: { runtime: "engine" } });
  const projectOf = async (who: Who, name: string): Promise<string> =>
    expect(await here.call(who, "POST", "/v1/projects", { name, region: "local" }), 201).id;
  return {
    ...{ engine, here, place, put, putIndex, closed, projectOf },
    /** Deploys for an organization; returns the final status and the log. */
    async deployed(who: Who, project_id: string, source: object) {
      const order = { project_id, environment: "production", source };
      const { id } = expect(await here.call(who, "POST", "/v1/deployments", order), 201);
      const { status } = await endOf(here, who, id);
      const { data } = expect(await here.call(who, "GET", `/v1/deployments/${id}/logs`), 200);
      return { id, status, log: data.map(({ message }: { message: string }) => message).join("\n") };
    },
  };
}

for (const kind of kinds) {
  const skip = lacking(kind) || (!isLong && "the long form only: TEST_LONG=1");

  test(`${kind}: No Dockerfile reads what another organization built or pulled`, { skip }, async (t) => {
    const { engine, here, place, put, closed, projectOf, deployed } = await machine(t, kind);
    put("base", "1", answering("base"));
    const digest = put("secret", "1", answering("secret of acme"));
    here.repos.commit("acme/web", { Dockerfile: `FROM ${place}/secret:1\nCOPY . /srv\n`, code: "secret of acme" });
    const own = await deployed("owner", await projectOf("owner", "web"), { type: "git", repo: "acme/web" });
    assert.deepEqual([own.status, await here.ask(host)], ["active", "200 secret of acme"], own.log);
    closed.add("secret");

    const all = (await engine.ask("/images/json")) as { Id: string; RepoTags: string[] | null }[];
    const [tag = ""] = (await engine.images()).filter((name) => name.endsWith(`:${own.id}`));
    const id = all.find(({ RepoTags }) => RepoTags?.includes(tag))?.Id.replace("sha256:", "") ?? "";
    assert.match(id, /^[0-9a-f]{64}$/);
    put("trap", "1", { ...answering("trap"), config: { OnBuild: [`COPY --from=${id} /srv /srv`] } });
    const base = `FROM ${place}/base:1\n`;
    const read = "RUN cat /srv/code\n";
    const noImage = /line \d of the Dockerfile: .*: this is not an image with its registry/;
    const unknown = /line \d of the Dockerfile: .* the registry docker\.io\b.* (has no image|gives|does not answer)/;
    const denied = /line \d of the Dockerfile: .*: the registry 127\S+ does not give secret without a credential/;
    const cases = [
      [`FROM ${id.slice(0, 12)}\n${read}`, unknown],
      [`FROM ${id}\n${read}`, noImage],
      [`FROM sha256:${id}\n${read}`, noImage],
      [`FROM ${tag.replace("localhost/", "")}\n${read}`, unknown],
      [`ARG OF=${id}\n${"FROM $"}{OF}\n${read}`, noImage],
      [`# a comment\nfrom \\\n  # another\n\n  ${id}\n${read}`, noImage],
      [`${base}COPY --from=${id} /srv /srv\n${read}`, noImage],
      [`${base}COPY --from=${tag.replace("localhost/", "")} /srv /srv\n${read}`, unknown],
      [`${base}COPY --from=late /srv /srv\nFROM ${place}/base:1 AS late\n`, unknown],
      [`FROM ${place}/secret:1\n`, denied],
      [`FROM ${place}/secret@${digest}\n`, denied],
      [`${base}COPY --from=${place}/secret@${digest} /answer /answer\n`, denied],
      [`${base}RUN --mount=type=bind,from=${id},target=/x cat /x/srv/code\n`, noImage],
      [
        `FROM ${place}/base:1 AS one\nONBUILD COPY --from=${id} /srv /srv\nFROM one\n${read}`,
        /a trigger must not name an image/,
      ],
      [`FROM ${place}/trap:1\n${read}`, /it has a trigger|a trigger must not name an image/],
      [`${base}RUN <<EOF\nFROM ${id}\nEOF\n`, /RUN <<EOF needs BuildKit/],
      [`${base}COPY "--from=${id}" /srv /srv\n${read}`, /the build failed/],
      [`${base}COPY --from="${id}" /srv /srv\n${read}`, /have quotes or an escape; write them without/],
      [`${base}COPY\u00a0--from=${id} /srv /srv\n${read}`, /it has the character U\+00A0/],
    ] as const;
    const project = await projectOf("stranger", "theirs");
    for (const [Dockerfile, reason] of cases) {
      here.repos.commit("globex/web", { Dockerfile });
      const { status, log } = await deployed("stranger", project, { type: "git", repo: "globex/web" });
      assert.equal(status, "failed", `${Dockerfile}\n${log}`);
      assert.doesNotMatch(log, /secret of acme/, Dockerfile);
      assert.match(log, reason, Dockerfile);
    }
    const image = { type: "image", image_url: `${place}/secret@${digest}` };
    const { status, log } = await deployed("stranger", project, image);
    assert.equal(status, "failed");
    assert.match(log, /does not give secret without a credential/);
  });

  test(`${kind}: A step is cached for its own environment alone`, { skip }, async (t) => {
    const { here, place, put, projectOf, deployed } = await machine(t, kind);
    put("base", "1", answering("base"));
    const Dockerfile = `FROM ${place}/base:1\nRUN echo the step runs\n`;
    const projects = { owner: await projectOf("owner", "web"), stranger: await projectOf("stranger", "theirs") };
    const seen = [];
    for (const who of ["owner", "owner", "stranger"] as const) {
      here.repos.commit("acme/web", { Dockerfile });
      const { log } = await deployed(who, projects[who], { type: "git", repo: "acme/web" });
      seen.push(/^the step runs$/m.test(log));
    }
    assert.deepEqual(seen, [true, false, true]);
  });

  test(`${kind}: A build for another platform is refused, and later builds of the same digest go on`, {
    skip,
  }, async (t) => {
    const { here, place, putIndex, projectOf, deployed } = await machine(t, kind);
    const [own, foreign] = process.arch === "arm64" ? (["arm64", "amd64"] as const) : (["amd64", "arm64"] as const);
    putIndex("both", "1", { [own]: answering("own"), [foreign]: answering("foreign") });
    const [theirs, project] = [await projectOf("stranger", "other"), await projectOf("owner", "web")];
    const source = { type: "git", repo: "acme/web" };
    here.repos.commit("acme/web", { Dockerfile: `FROM --platform=linux/${foreign} ${place}/both:1\nCOPY . /srv\n` });
    const first = await deployed("stranger", theirs, source);
    assert.equal(first.status, "failed", first.log);
    assert.match(
      first.log,
      new RegExp(`--platform=linux/${foreign} is another platform than the engine's, which is linux/${own}`),
    );
    here.repos.commit("acme/web", { Dockerfile: `FROM ${place}/both:1\nCOPY . /srv\n` });
    const second = await deployed("owner", project, source);
    assert.deepEqual([second.status, await here.ask(host)], ["active", "200 own"], second.log);
  });

  test(`${kind}: A Dockerfile of several stages builds with variables, platforms and stages by name and number`, {
    skip,
  }, async (t) => {
    const { here, place, put, projectOf, deployed } = await machine(t, kind);
    put("base", "1", answering("base"));
    const files = put("files", "latest", { files: { file: "#!/bin/sh\necho a file\n" } });
    const project = await projectOf("owner", "web");
    const text = [
      "# syntax=docker/dockerfile:1",
      `ARG PLACE="${place}"`,
      `ARG BASE=${"$"}{PLACE:-docker.io}/base VERSION=1`,
      `FROM --platform=$BUILDPLATFORM ${"$"}BASE:${"$"}{VERSION} AS Build`,
      "RUN cat /proc/self/status",
      "RUN mkdir /made \\",
      "  # in between",
      "",
      "  && echo made > /made/word",
      "from build as tested",
      "RUN echo tested >> /made/word",
      "FROM scratch AS bare",
      "COPY --from=0 /made/word /first",
      `FROM ${place}/base:1`,
      "COPY --from=TESTED /made /made",
      "COPY --from=bare /first /made/first",
      // Without BuildKit, Docker's builder has no mounts.
      ...(kind === "podman" ? ["RUN --mount=type=bind,from=tested,source=/made,target=/m cat /m/word"] : []),
      ...(kind === "podman" ? [`RUN --mount=type=bind,from=${place}/files,target=/m /m/file`] : []),
      `COPY --from=${place}/files /file /made/file`,
      "RUN sed -i \"s/base/$(cat /made/word /made/first | tr '\\n' ' ')$(/made/file)/\" /answer",
      "",
    ].join("\n");
    here.repos.commit("acme/web", { Dockerfile: text });
    const first = await deployed("owner", project, { type: "git", repo: "acme/web" });
    assert.deepEqual([first.status, await here.ask(host)], ["active", "200 made tested made a file"], first.log);
    assert.match(first.log, new RegExp(`Resolved ${place}/files to ${files}`));
    // The capabilities for installing packages, and no others. Docker has no option for them.
    if (kind === "podman") assert.match(first.log, /CapBnd:\s00000000800000fb/);

    // A moved tag gives another image at the next build.
    put("files", "latest", { files: { file: "#!/bin/sh\necho another\n" } });
    const second = await deployed("owner", project, { type: "git", repo: "acme/web" });
    assert.deepEqual([second.status, await here.ask(host)], ["active", "200 made tested made another"], second.log);

    for (const [step, reason] of [
      ["COPY one", kind === "docker" ? /error line 6: COPY requires at least two arguments/ : /COPY requires at least/],
      ["BUILD x", /line 6 of the Dockerfile: BUILD is not an instruction/],
    ] as const) {
      const Dockerfile = `FROM ${place}/base:1\nRUN echo 2 \\\n  3 \\\n  4\n\n${step}\n`;
      here.repos.commit("acme/web", { Dockerfile });
      const { status, log } = await deployed("owner", project, { type: "git", repo: "acme/web" });
      assert.equal(status, "failed");
      assert.match(log, reason);
    }
  });
}
