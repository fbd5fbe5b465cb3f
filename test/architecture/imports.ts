import { dirname } from "node:path/posix";
import {
  alsoKnow,
  closed,
  featureOf,
  fileOf,
  folderOf,
  forBrowsers,
  inLib,
  inTests,
  isRepository,
  roomOf,
  rooms,
  root,
  splits,
} from "./folders.ts";
import { type Import, type Rule, type Source, said } from "./source.ts";

/** Makes a rule about imports. For a wrong import, `test` returns a sentence with the correction. */
const imports = (test: (source: Source, one: Import) => string | undefined) => (source: Source) =>
  source.imports.flatMap((one) => {
    const sentence = inTests(source) ? undefined : test(source, one);
    return sentence ? [said(source, one.line, `imports ${one.of}; ${sentence}`)] : [];
  });

const room = (name: string): Rule => {
  const may = [name, ...(rooms[name] ?? [])];
  const knows = (path: string, of: string) => {
    const [also] = alsoKnow[dirname(path)] ?? [];
    return may.includes(roomOf(of)) || dirname(of) === also || (name === "client" && of in forBrowsers);
  };
  return {
    name: `${name} imports nothing of ours but ${may.join(" and ")}`,
    of: imports(({ path }, { of, ours }) =>
      roomOf(path) === name && ours && !knows(path, of)
        ? `${name} may know ${may.join(" and ")} alone, so hand it in as a port from lib/composition/features.ts`
        : undefined,
    ),
    breaks: [
      [`lib/${name}/a.ts`, 'import type { Ports } from "../composition/wiring.ts";'],
      [`lib/${name}/a.ts`, 'const { ports } = await import("../composition/wiring.ts");'],
      [`lib/${name}/a.ts`, 'export type A = import("../composition/wiring.ts").Ports;'],
    ],
    keeps: [[`lib/${name}/a.ts`, `import * as v from "valibot";\nimport { a } from "../${may.at(-1)}/b.ts";`]],
  };
};

const isRoot = (path: string) => /^lib\/[^/]+$/.test(path) && (root as readonly string[]).includes(fileOf(path));
const servers = ["h3", "h3/node", "ws", "node:http", "node:https", "node:http2"];
/** Files with data and no decisions: schemas, states, tables. */
const plain = /\/(schema|states|catalog|models)\.ts$/;

/** Rules 1 to 5 of "Never", as far as imports show. */
export const importRules: readonly Rule[] = [
  ...Object.keys(rooms).map(room),
  {
    name: "no runtime imports the other",
    of: imports(({ path }, { of }) => {
      const [own, other] = [path, of].map((one) => /^lib\/platform\/(process|containers)\//.exec(one)?.[1]);
      return own && other && own !== other ? "what both runtimes share belongs into lib/platform/runtime/" : undefined;
    }),
    breaks: [["lib/platform/containers/a.ts", 'import { build } from "../process/build.ts";']],
    keeps: [["lib/platform/containers/a.ts", 'import { fetchSource } from "../runtime/source.ts";']],
  },
  {
    name: "what the client holds of the kernel imports nothing",
    of: imports(({ path }) =>
      path in forBrowsers ? "the client runs in browsers, and brings no more with it" : undefined,
    ),
    breaks: [["lib/kernel/manual-clock-hint.ts", 'import { isoOf } from "./clock.ts";']],
    keeps: [["lib/client/wait.ts", 'import { manualClockHint } from "../kernel/manual-clock-hint.ts";']],
  },
  {
    name: "states.ts imports nothing but kernel/state-machine",
    of: imports(({ path }, { of }) =>
      fileOf(path) === "states" && of !== "lib/kernel/state-machine.ts"
        ? "a table of states is pure, so move what needs this into the service"
        : undefined,
    ),
    breaks: [["lib/features/users/states.ts", 'import { roles } from "../kernel/roles.ts";']],
    keeps: [["lib/features/users/states.ts", 'import { machine } from "../../kernel/state-machine.ts";']],
  },
  {
    name: "a feature knows nothing of HTTP: neither h3, ws and node:http nor lib/http",
    of: imports(({ path }, { of }) =>
      featureOf(path) !== "" && (servers.includes(of) || roomOf(of) === "http")
        ? "declare an operation and answer a value, and lib/http turns it into an answer"
        : undefined,
    ),
    breaks: [
      ["lib/features/users/service.ts", 'import type { H3Event } from "h3";'],
      ["lib/features/users/service.ts", 'import { createServer } from "node:http";'],
      ["lib/features/users/service.ts", 'import type { Answer } from "../../http/answer.ts";'],
    ],
    keeps: [["lib/emulator/control/control.ts", 'import type { Answer } from "../http/answer.ts";']],
  },
  {
    name: "only store/ and repository.ts import kysely",
    of: imports(({ path }, { of }) =>
      /^kysely($|\/)/.test(of) && roomOf(path) !== "store" && !isRepository(path)
        ? "put the query into the feature's repository.ts"
        : undefined,
    ),
    breaks: [["lib/features/users/service.ts", 'import { sql } from "kysely";']],
    keeps: [["lib/features/users/repository.ts", 'import { sql } from "kysely";']],
  },
  {
    name: "only store/ imports a database's driver",
    of: imports(({ path }, { of }) =>
      /^(better-sqlite3|pg|node:sqlite)($|\/)/.test(of) && roomOf(path) !== "store"
        ? "go through Store and a repository, or add what is missing to lib/store"
        : undefined,
    ),
    breaks: [["lib/features/users/repository.ts", 'import Database from "better-sqlite3";']],
    keeps: [["lib/store/sqlite/connection.ts", 'import type { Database } from "better-sqlite3";']],
  },
  {
    name: "a repository is imported in its own folder alone",
    of: imports(({ path }, { of, ours }) =>
      ours &&
      isRepository(of) &&
      dirname(of) !== dirname(path) &&
      !(roomOf(path) === "composition" && roomOf(of) === "store")
        ? `ask ${folderOf(of)}'s service, which knows who may see what`
        : undefined,
    ),
    breaks: [
      ["lib/features/users/service.ts", 'import { keysRepository } from "../keys/repository.ts";'],
      ["lib/features/users/service.ts", 'import type { keysRepository } from "../keys/repository.ts";'],
      ["lib/service.ts", 'import { keysRepository } from "./keys/repository.ts";'],
    ],
    keeps: [
      ["lib/features/users/rollout.ts", 'import { usersRepository } from "./repository.ts";'],
      ["lib/composition/open-store.ts", 'import { settingsRepository } from "../store/repository.ts";'],
    ],
  },
  {
    name: "operations.ts and jobs.ts know services as types only",
    of: imports(({ path }, { of, ours, isType }) =>
      featureOf(path) !== "" && /^(operations|jobs)$/.test(fileOf(path)) && !isType
        ? ours && roomOf(of) !== "kernel" && !plain.test(of)
          ? "import the type; the service itself is handed to run()"
          : !ours && of !== "valibot"
            ? "a declaration needs no package but valibot, so move the work into the service"
            : undefined
        : undefined,
    ),
    breaks: [
      ["lib/features/users/operations.ts", 'import { usersService } from "./service.ts";'],
      ["lib/features/users/jobs.ts", 'import { createHash } from "node:crypto";'],
    ],
    keeps: [
      [
        "lib/features/users/operations.ts",
        'import type { UsersService } from "./service.ts";\nimport { user } from "./schema.ts";',
      ],
    ],
  },
  {
    name: "only the composition root knows the features from outside",
    of: imports(({ path }, { of, ours }) =>
      /^lib\/[^/]+$/.test(path) && !isRoot(path) && ours && featureOf(of) !== ""
        ? `move ${path} into a folder: the top of lib holds the public surfaces alone`
        : undefined,
    ),
    breaks: [["lib/extra.ts", 'import { user } from "./features/users/schema.ts";']],
    keeps: [["lib/config/seed.ts", 'import { user } from "../features/users/schema.ts";']],
  },
  {
    name: "the public surface is the only barrel",
    of: imports(({ path }, { reexports }) =>
      reexports && !/^lib\/(index|testing|client)\.ts$/.test(path)
        ? "export what is made here, and let others import from where it is made"
        : undefined,
    ),
    breaks: [["lib/features/users/service.ts", 'export * from "./schema.ts";']],
    keeps: [["lib/index.ts", 'export { Problem } from "./kernel/errors.ts";']],
  },
  {
    name: "a feature holds files of the closed list, and splits by name",
    of: (source) => {
      if (!inLib(source)) return [];
      const file = fileOf(source.path);
      if (/(^|\/)(helpers?|utils?|common|types|misc|shared)(\/|\.ts$)/.test(source.path.slice("lib/".length)))
        return [said(source, 1, "has a name that says nothing; name it after what it holds")];
      const feature = featureOf(source.path);
      const place = source.path.slice("lib/features/".length).replace(/\.ts$/, "");
      const known = place === `${feature}/${file}` && (closed as readonly string[]).includes(file);
      if (feature === "" || known || place in splits || dirname(place) in splits || /\/generated\//.test(place))
        return [];
      return [
        said(
          source,
          1,
          `is none of ${closed.join(", ")}; join it to one, or name the split in test/architecture/folders.ts`,
        ),
      ];
    },
    breaks: [
      ["lib/features/users/helpers.ts", ""],
      ["lib/store/utils.ts", ""],
      ["lib/features/users/passwords.ts", ""],
      ["lib/features/users/kinds/service.ts", ""],
    ],
    keeps: [
      ["lib/features/users/service.ts", ""],
      ["lib/features/events/bus.ts", ""],
      ["lib/http/authenticate.ts", ""],
    ],
  },
];
