// `npm run lock`: writes package-lock.json anew, whole. npm leaves out a platform's optional package that the registry at
// hand does not hold, and then refuses its own lock file: `npm ci` wants an entry for every one that is named.
import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";

const file = "package-lock.json";
rmSync(file, { force: true });
execFileSync("npm", ["install", "--package-lock-only", "--ignore-scripts"], { stdio: "inherit" });
const lock = JSON.parse(readFileSync(file, "utf8"));
const { packages } = lock;
for (const { optionalDependencies = {}, dev } of Object.values(packages)) {
  for (const [name, version] of Object.entries(optionalDependencies)) {
    if (packages[`node_modules/${name}`]) continue;
    const [, os, cpu] = /-(android|darwin|freebsd|linux|netbsd|openbsd|openharmony|win32)-(\w+)/.exec(name) ?? [];
    packages[`node_modules/${name}`] = {
      version,
      ...(cpu && { cpu: [cpu] }),
      ...(dev && { dev }),
      ...(/-musl/.test(name) && { libc: ["musl"] }),
      ...(/-gnu/.test(name) && { libc: ["glibc"] }),
      optional: true,
      ...(os && { os: [os] }),
    };
  }
}
const sorted = Object.fromEntries(Object.entries(packages).sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(file, `${JSON.stringify({ ...lock, packages: sorted }, null, 2)}\n`);
