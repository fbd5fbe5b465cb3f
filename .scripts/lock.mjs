// `npm run lock`: writes a complete package-lock.json. npm omits a platform's optional package if the registry lacks
// it, and then refuses its own lock file: `npm ci` needs an entry for every named package.
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const file = "package-lock.json";
// In a separate folder, because npm would also list the packages behind a linked node_modules.
const folder = mkdtempSync(join(tmpdir(), "svc-lock-"));
copyFileSync("package.json", join(folder, "package.json"));
execFileSync("npm", ["install", "--package-lock-only", "--ignore-scripts"], { cwd: folder, stdio: "inherit" });
const lock = { ...JSON.parse(readFileSync(join(folder, file), "utf8")), name: "svc-server" };
rmSync(folder, { recursive: true });
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
