import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { found } from "./container-engine.ts";

/** Runs a program; returns its stdout, or throws its stderr if it fails. */
export function print(program: string, words: readonly string[], input?: Uint8Array): string {
  const { status, stdout, stderr } = spawnSync(program, words, {
    encoding: "utf8",
    maxBuffer: 1e9,
    ...(input && { input }),
  });
  if (status !== 0) throw new Error(`${program} ${words.slice(0, 3).join(" ")} ended with ${status}: ${stderr}`);
  return stdout;
}

/** Copies a package of this checkout and its run-time dependencies, in the layout of `npm install`. */
function install(name: string, to: string): void {
  const target = join(to, name);
  cpSync(join("node_modules", name), target, { recursive: true, dereference: true });
  const { dependencies = {} } = JSON.parse(readFileSync(join(target, "package.json"), "utf8"));
  // This package only downloads a binary, and has a third of all files.
  for (const next of Object.keys(dependencies)) if (next !== "prebuild-install") install(next, to);
}

const applets = ["sh", "id", "grep", "rm", "mkdir", "chown", "cp", "ls", "stat"];
/** Replaces npm, which would need a registry: copies the packages of this checkout. */
const npm = "#!/bin/sh\ncp -r /package/node_modules /app/\n";

/**
 * The files of a base image with this machine's Node, created without a network: Node and its libraries, busybox, and
 * the package with its dependencies. `docker import` accepts them.
 */
export function hostImage(folder: string, tarball: string): void {
  const put = (path: string) => {
    const target = join(folder, path);
    mkdirSync(dirname(target), { recursive: true });
    cpSync(realpathSync(path), target);
  };
  for (const name of ["usr/local/bin", "usr/bin", "bin", "tmp", "etc", "proc", "dev", "sys"])
    mkdirSync(join(folder, name), { recursive: true });
  cpSync(process.execPath, join(folder, "usr/local/bin/node"));
  for (const [path] of print("ldd", [process.execPath]).matchAll(/\/[\w./+-]+\.so[\w.]*/g)) put(path);
  cpSync(realpathSync(found("busybox")), join(folder, "bin/busybox"));
  for (const name of applets) symlinkSync("busybox", join(folder, "bin", name));
  symlinkSync("/bin/busybox", join(folder, "usr/bin/env"));
  writeFileSync(join(folder, "usr/local/bin/npm"), npm);
  chmodSync(join(folder, "usr/local/bin/npm"), 0o755);

  const packages = join(folder, "package/node_modules");
  const own = join(packages, "svc-server");
  mkdirSync(own, { recursive: true });
  print("tar", ["-xzf", resolve(tarball), "-C", own, "--strip-components=1"]);
  const { dependencies } = JSON.parse(readFileSync(join(own, "package.json"), "utf8"));
  for (const name of [...Object.keys(dependencies), "pg"]) install(name, packages);
  rmSync(join(packages, "better-sqlite3/build/Release/obj"), { recursive: true, force: true });
  mkdirSync(join(packages, ".bin"));
  symlinkSync("../svc-server/bin/launch.mjs", join(packages, ".bin/svc-server"));
}
