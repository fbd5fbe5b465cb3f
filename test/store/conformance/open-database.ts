import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import type { Engine, Images, OpenDatabase } from "../../../lib/store/engine.ts";
import { openFile } from "../../../lib/store/sqlite/database-files.ts";
import { names } from "../../helpers/temporary-store.ts";
import { allOn, type Check, event, type Members, organization, plain, put, write } from "./check.ts";

export const openDatabase: Record<Members<"OpenDatabase", OpenDatabase>, Check> = {
  "OpenDatabase.engine": [
    "has the tables of a service, without rows",
    async ({ opened: { engine }, another }) => {
      for (const table of ["organizations", "events", "jobs"] as const)
        assert.deepEqual(await allOn(engine.connection, engine.db.selectFrom(table).selectAll()), []);
      assert.notEqual((await another?.())?.engine, engine);
    },
  ],
  "OpenDatabase.created": [
    "is true for the first that opens it",
    async ({ opened, another }) => {
      assert.equal(opened.created, true);
      if (another) assert.equal((await another()).created, false);
    },
  ],
  "OpenDatabase.warning": [
    "tells of an interrupted restore of a file",
    async ({ opened, path }) => {
      assert.equal(opened.warning, undefined);
      if (path === undefined) return;
      await opened.engine.close();
      opened.release();
      mkdirSync(`${path}.staged`);
      const again = openFile(path, { mayCreate() {}, exclusive: false });
      await again.engine.close();
      assert.match(again.warning ?? "", /interrupted before it took effect; the database is as it was/);
    },
  ],
  "OpenDatabase.cluster": [
    "is there where several processes are one service",
    ({ opened, kind }) => assert.equal(opened.cluster !== undefined, kind === "postgres"),
  ],
  "OpenDatabase.images": [
    "is there where a process has the database alone",
    ({ opened, kind }) => assert.equal(opened.images !== undefined, kind !== "postgres"),
  ],
  "OpenDatabase.violations": [
    "finds rows that break a rule, and ends when it is aborted",
    async ({ opened: { engine, violations } }) => {
      const control = new AbortController();
      const { signal } = control;
      assert.deepEqual(await violations(signal), []);
      await plain(engine, organization);
      await plain(engine, event("evt_1", "deployment.queued", '{"deployment_id":"dep_1","project_id":"proj_1"}'));
      const rules = (await violations(signal)).map(({ rule }) => rule);
      assert.deepEqual(rules, ["an event is about a deployment that exists, or whose project was removed"]);
      const cut = violations(signal);
      control.abort();
      await assert.rejects(cut, /before all rules were checked/);
    },
  ],
  "OpenDatabase.release": [
    "lets another server have a file, and stops nobody elsewhere",
    async ({ opened, another, path }) => {
      const server = () => path !== undefined && openFile(path, { mayCreate() {}, exclusive: true });
      if (path !== undefined) assert.throws(server, /another svc-server is running on it/);
      await opened.engine.close();
      opened.release();
      const next = server() || (await another?.());
      await next?.engine.close();
      next?.release();
      opened.release();
    },
  ],
};

const ofImages = (check: (images: Images, engine: Engine) => Promise<void>): Check[1] => {
  return async ({ opened, kind }) => {
    if (opened.images) await check(opened.images, opened.engine);
    else assert.equal(kind, "postgres");
  };
};
export const images: Record<Members<"Images", Images>, Check> = {
  "Images.between": [
    "runs between two transactions",
    ofImages(async ({ between, take }, engine) => {
      const order: string[] = [];
      const writing = engine.transaction("all", async (c) => {
        for (const name of ["a", "b"]) await write(engine, name)(c);
        order.push("written");
      });
      await between(() => order.push("between"));
      await writing;
      assert.deepEqual(order, ["written", "between"]);
      assert.equal(await between(() => typeof take()), "object");
      await assert.rejects(
        between(() => {
          throw new Error("no");
        }),
        /no/,
      );
    }),
  ],
  "Images.take": [
    "is the rows of now, and stays as it is",
    ofImages(async ({ between, take }, engine) => {
      await put(engine, "a");
      const image = await between(take);
      const bytes = Buffer.from(image);
      await put(engine, "b");
      assert.deepEqual(image, bytes);
      assert.notDeepEqual(await between(take), image);
    }),
  ],
  "Images.replace": [
    "brings the rows of an image back, as often as is wished",
    ofImages(async ({ between, take, replace }, engine) => {
      await put(engine, "a");
      const image = await between(take);
      for (const name of ["b", "c"]) {
        await put(engine, name);
        const next = await between(() => replace(image));
        assert.deepEqual(await names(next.engine.connection), ["a"]);
        if (next.engine !== engine) await next.engine.close();
      }
    }),
  ],
};
