import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { banner } from "../../bin/banner.ts";
import type { Options } from "../../lib/index.ts";
import { inShell, withoutShell } from "../helpers/in-shell.ts";
import { launch, temporaryFolder } from "../helpers/program.ts";
import { noSandbox } from "../helpers/running-apps.ts";

type About = Parameters<typeof banner>[0];

const usual = {
  url: "http://127.0.0.1:7400",
  base_url: "http://127.0.0.1:7400/v1",
  dashboard_url: "http://127.0.0.1:7400/dashboard",
  api_key: `sk_live_${"x".repeat(40)}`,
  apps_url: null,
  options: {} as Options,
  isNew: false,
  warnings: [],
  color: false,
} as const;

/** The lines for a second terminal. */
function commandsIn(text: string): string[] {
  const [, commands = ""] = text.split("In a second terminal:\n");
  return commands.split("\n").map((line) => line.trim());
}

test("the banner has at most 14 lines of 80 columns, and colour only where it is asked for", () => {
  const runtime = "process, with the isolation bubblewrap";
  const apps = { runtime, apps_url: "http://localhost:8080" };
  const database = { database: "./svc-data" };
  const cases: Partial<About>[] = [
    {},
    { options: { clock: "manual@2026-01-01T00:00:00Z", ...database } },
    { options: { trustNetwork: ["172.31.74.0/24"], outbound: { send: true } } },
    apps,
    { mode: "start", options: database, isNew: true },
    { mode: "start", options: database, api_key: null },
    { mode: "start", options: { ...database, publicUrl: "https://svc.example.com" }, ...apps, isNew: true },
    { ...apps, runtime: "engine, with Docker 28.3" },
  ];
  for (const one of cases) {
    const about: About = { ...usual, mode: "dev", ...one };
    const text = banner(about);
    const lines = text.split("\n");
    assert.ok(lines.length <= 14, text);
    for (const line of lines) assert.ok([...line].length <= 80, line);
    assert.match(lines[0] ?? "", /^svc-server \d+\.\d+\.\d+ · .* · Ctrl\+C stops it$/);
    assert.match(text, /\n {2}export SVC_URL=http:\/\/127\.0\.0\.1:7400 (\\\n {4})?SVC_API_KEY=sk_live_\w+\n/);
    assert.equal(stripVTControlCharacters(text), text, "no colour");
    const colored = banner({ ...about, color: true });
    assert.notEqual(colored, text);
    assert.equal(stripVTControlCharacters(colored), text);
  }
  const warned = banner({ ...usual, mode: "dev", warnings: ["word ".repeat(40).trim()] });
  assert.match(warned, /\nWARNING word word/);
  for (const line of warned.split("\n")) assert.ok(line.length <= 80, line);
});

test("the banner names what the box lacks, and what is not as usual", () => {
  const dev = (about: Partial<About>) => banner({ ...usual, mode: "dev", ...about });
  const protections = [{ name: "users" }, { name: "disk", missing: "no mkfs.ext4" }] as const;
  assert.match(
    dev({ runtime: "process", protections }),
    /^ {2}Box {8}lacks disk; svc-server doctor says how to add it$/m,
  );
  assert.doesNotMatch(dev({ runtime: "process", protections: protections.slice(0, 1) }), /Box/);
  assert.match(
    dev({ options: { trustNetwork: ["172.16.0.0/12"] } }),
    /^ {2}Trusted {4}172\.16\.0\.0\/12: no key for the control interface, plain http for/m,
  );
  assert.match(
    dev({ options: { outbound: { send: true } } }),
    /^ {2}Sent {7}deliveries leave for public addresses \(--send\)$/m,
  );
  for (const mode of ["dev", "start"] as const)
    assert.match(
      banner({ ...usual, mode, options: { outbound: { allow: ["10.0.0.0/8", "192.0.2.7:443"] } } }),
      /^ {2}Allowed {4}10\.0\.0\.0\/8, 192\.0\.2\.7:443: open to outbound requests$/m,
    );
  assert.match(dev({ options: { clock: "60x" } }), /^ {2}Clock {6}60x$/m);
  assert.match(banner({ ...usual, mode: "start" }), /^ {2}Apps {7}are simulated; svc-server doctor helps$/m);
});

for (const mode of ["dev", "start"] as const)
  test(`the lines of the banner of ${mode} work as they are printed`, { skip: withoutShell }, async (t) => {
    const folder = temporaryFolder(t);
    const server = await launch(
      t,
      mode === "dev" ? ["dev", "--port", "0", "--clock", "manual"] : ["start", "--port", "0"],
      folder,
    );
    const lines = commandsIn(banner({ ...usual, ...server, mode }));
    const printed = await inShell(folder, lines.join("\n"));
    assert.match(
      printed,
      mode === "dev" ? /^id +proj_[\s\S]*deployment\.succeeded +evt_/ : /^id +dep_[\s\S]*"repo":"acme\/web"/,
    );
    assert.match(printed, new RegExp(`dep_\\w+ .*${mode === "dev" ? "active" : "queued|building|deploying|active"}`));
  });

test("the banner of a start with a runtime deploys a folder, as it is printed", { skip: noSandbox }, async (t) => {
  const server = await launch(t, ["dev", "--port", "0", "--runtime", "process", "--apps-port", "0"]);
  const text = banner({ ...usual, ...server, mode: "dev", runtime: "process" });
  assert.match(await inShell(temporaryFolder(t), commandsIn(text).join("\n")), /Hello from my first app\n$/);
  const engine = banner({ ...usual, mode: "dev", apps_url: "http://localhost:8080", runtime: "engine" });
  assert.match(engine, /^ {2}printf 'FROM busybox\\n.*' > hello\/Dockerfile$/m);
});

test("the banner names a repository of the folder --repos", async (t) => {
  const folder = temporaryFolder(t);
  const named = () => {
    const text = banner({ ...usual, mode: "dev", options: { codeHost: { repos: folder } } });
    return /source\.repo=(\S+)/.exec(text)?.[1];
  };
  assert.equal(named(), "OWNER/REPO");
  mkdirSync(join(folder, "notes/old"), { recursive: true });
  mkdirSync(join(folder, "shop/api.git"), { recursive: true });
  writeFileSync(join(folder, "shop/api.git/HEAD"), "ref: refs/heads/master\n");
  assert.equal(named(), "shop/api");
  mkdirSync(join(folder, "app/.git"), { recursive: true });
  assert.equal(named(), "acme/app");
});
