import assert from "node:assert/strict";
import { chmodSync, chownSync, existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { openOnce } from "../helpers/child-processes.ts";
import { createdDatabase, isDatabaseError } from "../helpers/database-rows.ts";
import { run } from "../helpers/program.ts";

describe("a file or folder without write permission", () => {
  const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const give = (...paths: string[]) => {
    for (const path of paths) if (nobody.uid) chownSync(path, nobody.uid, nobody.gid);
  };
  const everyFile = (folder: string) => readdirSync(folder).map((name) => join(folder, name));
  /** The user `nobody` may be unable to read Node or this checkout; the test is skipped then. */
  let tried: Promise<string> | undefined;
  const unreachable = async (t: TestContext): Promise<boolean> => {
    const path = await createdDatabase(t);
    give(join(path, ".."), ...everyFile(join(path, "..")));
    tried ??= openOnce(path, nobody).catch((error: Error) => error.message);
    const said = await tried;
    const reached = said.startsWith("ready");
    if (!reached) t.skip(`a process without root's rights cannot run here: ${said}`);
    return !reached;
  };
  const rights = /give this user the right to write there/;

  test("a read-only file", async (t) => {
    if (await unreachable(t)) return;
    const path = await createdDatabase(t);
    give(join(path, ".."), ...everyFile(join(path, "..")));
    chmodSync(path, 0o444);
    isDatabaseError(await openOnce(path, nobody), rights);
    const { stdout } = run(["doctor", "--database", path, "--port", "0"], "/", {}, nobody);
    assert.match(
      stdout,
      /WRONG +database +this user cannot read and write .*svc\.db; run as its owner, or change its permissions/,
    );
  });

  test("an unreadable file", async (t) => {
    if (await unreachable(t)) return;
    const path = await createdDatabase(t);
    give(join(path, ".."), ...everyFile(join(path, "..")));
    chmodSync(path, 0);
    isDatabaseError(await openOnce(path, nobody), rights);
  });

  test("a read-only folder, with a database and without one", async (t) => {
    if (await unreachable(t)) return;
    const path = await createdDatabase(t);
    const folder = join(path, "..");
    give(folder, ...everyFile(folder));
    chmodSync(folder, 0o555);
    t.after(() => existsSync(folder) && chmodSync(folder, 0o755));
    isDatabaseError(await openOnce(path, nobody), rights);
    isDatabaseError(await openOnce(join(folder, "svc-new.db"), nobody), rights);
    isDatabaseError(await openOnce(join(folder, "svc-new", "svc.db"), nobody), rights);
    isDatabaseError(run(["keys", "list", "--database", path], "/", {}, nobody).stderr.trim(), rights);
    isDatabaseError(run(["keys", "create", "--database", path], "/", {}, nobody).stderr.trim(), rights);
    const source = await createdDatabase(t);
    give(join(source, ".."), ...everyFile(join(source, "..")));
    isDatabaseError(
      run(["backup", join(folder, "svc-copy.db"), "--database", source], "/", {}, nobody).stderr.trim(),
      rights,
    );
  });

  test("an unreadable key file", async (t) => {
    if (await unreachable(t)) return;
    const path = await createdDatabase(t);
    give(join(path, ".."), ...everyFile(join(path, "..")));
    chmodSync(`${path}.key`, 0);
    isDatabaseError(await openOnce(path, nobody), rights);
  });
});
