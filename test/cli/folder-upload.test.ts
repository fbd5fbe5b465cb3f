import assert from "node:assert/strict";
import { mkdirSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { commitOf } from "../../bin/folder-upload.ts";
import { createGit } from "../../bin/git.ts";
import { repositories } from "../helpers/repositories.ts";

/** A repository with `site/index.html`, and with a setting that gives text files the line ends of Windows. */
function repository(t: TestContext, format: string, text: string) {
  const repos = repositories(t);
  const root = join(repos.root, "web");
  mkdirSync(root);
  const git = (...words: string[]) => repos.git("web", ...words);
  git("init", "--quiet", `--object-format=${format}`);
  git("config", "core.autocrlf", "true");
  repos.commit("web", { "site/index.html": text });
  // Git reads a file again whose time has changed.
  utimesSync(join(root, "site/index.html"), 1, 1);
  let scratches = 0;
  const deployed = async (folder: string) => {
    const scratch = join(repos.root, `scratch-${++scratches}`);
    const own = createGit(scratch);
    const commit = await commitOf(own, { folder, scratch, isForced: false });
    const show = async (path: string) => (await own(["show", `${commit.sha}:${path}`])).stdout;
    return { ...commit, show };
  };
  return { root, git, deployed };
}

test("a repository whose files have the line ends of Windows is deployed as it is committed", async (t) => {
  const { root, git, deployed } = repository(t, "sha1", "one\r\n");
  const whole = await deployed(root);
  assert.deepEqual([whole.sha, whole.note], [git("rev-parse", "HEAD"), undefined]);
  assert.equal(await (await deployed(join(root, "site"))).show("index.html"), "one\n");
});

test("a repository of the object format sha256 is deployed as a new commit of its files", async (t) => {
  const { root, deployed } = repository(t, "sha256", "one\n");
  const { show, isForced, note } = await deployed(root);
  assert.deepEqual([await show("site/index.html"), isForced], ["one\n", true]);
  assert.match(note ?? "", /sha256/);
});
