import { existsSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { createOutbound } from "../../lib/drivers/outbound/outbound.ts";
import { createEngineRuntime } from "../../lib/platform/containers/containers.ts";
import { createRuntimeDriver } from "../../lib/platform/runtime/driver.ts";
import { containerEngine, type Kind as EngineKind, kinds, lacking } from "../helpers/container-engine.ts";
import { answering, type ImageParts, registry } from "../helpers/image-registry.ts";
import { temporaryFolder } from "../helpers/program.ts";
import { isLong } from "../helpers/properties.ts";
import { repositories } from "../helpers/repositories.ts";
import { conformance } from "./conformance.ts";
import type { Kind, Member } from "./member.ts";

const runs = (script: string): ImageParts => ({
  files: { main: `#!/bin/sh\n${script}\n` },
  config: { Cmd: ["/main"] },
});

const images: Partial<Record<Kind, (version: string) => ImageParts>> = {
  works: answering,
  startFails: () => runs("exit 4"),
  startHangs: () => runs("exec sleep 4243"),
};

/** The RUN instruction of each build. */
const builds: Partial<Record<Kind, string>> = {
  prints: `i=0; while [ $i -lt 3000 ]; do echo "line $i"; i=$((i + 1)); done; echo the token is s3cret-of-the-environment`,
  buildFails: "echo begun; exit 7",
  buildHangs: "echo begun; sleep 4243",
};

async function engineMember(t: TestContext, of: EngineKind): Promise<Member> {
  const engine = await containerEngine(t, of);
  const { host, put } = await registry(t);
  put("base", "1", {});
  const folder = temporaryFolder(t);
  const repos = repositories(t);
  const outbound = createOutbound({ mode: "dev" });
  t.after(outbound.close);
  return {
    open: () =>
      createRuntimeDriver([
        createEngineRuntime(folder, {
          outbound,
          registries: {},
          codeHost: { url: "", repos: repos.root },
          appMemory_bytes: 2 ** 28,
          scratch_bytes: 2 ** 28,
          healthTimeout_ms: 60_000,
          limits: { timeout_ms: 60_000, memory_bytes: 2 ** 30, disk_bytes: 2 ** 30 },
          isLasting: true,
        }),
      ]),
    source(kind, version = "one") {
      const image = images[kind];
      if (image) {
        put(kind.toLowerCase(), "main", image(version));
        return { type: "image", repo: null, branch: null, tag: null, image_url: `${host}/${kind.toLowerCase()}:main` };
      }
      repos.commit(`acme/${kind}`, { Dockerfile: `FROM ${host}/base:1\nRUN ${builds[kind]}\n` });
      return { type: "git", repo: `acme/${kind}`, branch: "main", tag: null, image_url: null };
    },
    async traces(id) {
      const containers = (await engine.ask("/containers/json?all=1")) as {
        Id: string;
        Labels: Record<string, string>;
      }[];
      // The container of a build step has no deployment label.
      const its = containers.filter(({ Labels }) => (Labels["svc-server.deployment"] ?? id) === id);
      const folders = [join(folder, "engine/sources", id), join(folder, "engine/pulls", id)];
      return [
        ...its.map((one) => one.Id),
        ...(await engine.images()).filter((name) => name.endsWith(`:${id}`)),
        ...folders.filter((path) => existsSync(path)),
      ];
    },
  };
}

for (const of of kinds) {
  const skip = lacking(of) || (!isLong && "the long form only: TEST_LONG=1");
  conformance({ name: `engine, of ${of}`, skip, runs: true, make: (t) => engineMember(t, of) });
}
