import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { main as commands } from "../../bin/commands.ts";
import { run as command } from "../../bin/main.ts";
import { userFolder } from "../helpers/cli-refusals.ts";
import fc from "../helpers/fast-check.ts";
import { isLong, runs } from "../helpers/properties.ts";

interface Declared {
  readonly args?: Readonly<Record<string, { readonly type: "string" | "boolean" | "positional" }>>;
  readonly subCommands?: Readonly<Record<string, Declared | (() => Promise<Declared>)>>;
}

/** Every command by its full name, with its flags. */
async function allCommands(
  { args = {}, subCommands = {} }: Declared,
  path: string[] = [],
): Promise<[string, Flag[]][]> {
  const flags = Object.entries(args).flatMap(([name, { type }]) => (type === "positional" ? [] : [{ name, type }]));
  const below = await Promise.all(
    Object.entries(subCommands).map(async ([name, one]) =>
      allCommands(typeof one === "function" ? await one() : one, [...path, name]),
    ),
  );
  return [...(flags.length > 0 ? ([[path.join(" "), flags]] as [string, Flag[]][]) : []), ...below.flat()];
}
interface Flag {
  readonly name: string;
  readonly type: "string" | "boolean";
}

/**
 * The words that each command needs beside the flag under test. None of them work: there is no server and no such file.
 */
const words: Readonly<Record<string, readonly string[]>> = {
  call: ["me.get"],
  users: ["list"],
  trigger: ["deployment.failed"],
  listen: ["--forward-to", "localhost:1"],
  seed: ["seed.json"],
  backup: ["copy.db"],
  restore: ["copy.db"],
  exec: ["--", "true"],
  "deployments logs": ["dep_1"],
  "env import": [".env"],
  "clock advance": ["1s"],
  "inbox set": ["orders", "responses=200"],
  "scenarios add": ["match.branch=main", "outcome.result=fail"],
  "faults add": ["match.path=/v1/*", "respond.drop=true"],
  "scenarios remove": ["scn_1"],
  "scenarios load": ["scenarios.json"],
  "faults remove": ["flt_1"],
  "snapshots restore": ["snap_1"],
  "snapshots remove": ["snap_1"],
  "keys revoke": ["key_1"],
};

/** Printable text that is not a valid value. It may begin with a hyphen. */
const textBut = (right: RegExp) => fc.string({ minLength: 1, maxLength: 20 }).filter((text) => !right.test(text));
const port = { values: ["65536", "-1", "-0", "1.5", "1e3", "0x10", "٣", "NaN"], random: textBut(/^\d+$/) };
const path = { values: ["none.json", "."], random: textBut(/^demo$/) };
const instant = { values: ["noon", "2027-02-30T00:00:00Z", "2027-01-01", "0"], random: textBut(/T/) };
/**
 * Wrong values for each flag that checks its value. A key that starts with a command's name is for that command only.
 */
const wrong: Readonly<Record<string, { readonly values: readonly string[]; readonly random?: fc.Arbitrary<string> }>> =
  {
    port,
    "apps-port": port,
    "rate-limit": { values: ["1000000001", "-1", "-0", "many"], random: textBut(/^\d+$/) },
    envelope: { values: ["round", "FULL", "flat,full"], random: textBut(/^(flat|full)$/) },
    "log-level": { values: ["loud", "INFO"], random: textBut(/^(silent|error|warn|info|debug)$/) },
    clock: {
      values: ["0x", "-1x", "manual@", "manual@1969-12-31T23:59:59Z"],
      random: textBut(/^(real|manual|\d.*x)$/),
    },
    key: { values: ["sk_test_x", "sk_live_", "sk_live_a b"], random: textBut(/^sk_live_\w+$/) },
    "public-url": { values: ["svc.example.com", "ftp://a", "http://"], random: textBut(/^https?:/i) },
    hosts: { values: ["a b", "http://a", "a/b"] },
    "trust-network": { values: ["10.0.0.0", "10.0.0.0/33", "svc", "::/0,"], random: textBut(/\//) },
    "apps-url": {
      values: [
        "https://apps.example.com",
        "https://*.apps.example.com/x",
        "ftp://*.a",
        "https://u:p@*.a",
        "https://*.1.2.3.4",
      ],
      random: textBut(/\*/),
    },
    cors: { values: ["app", "*,app", "https://a/b"], random: textBut(/^ *\* *$|:/) },
    runtime: { values: ["docker", "process,vm"], random: textBut(/process|simulated|engine/) },
    tenancy: { values: ["none"], random: textBut(/^(separate|trusted)$/) },
    apps: { values: ["paused"], random: textBut(/^(running|stopped)$/) },
    isolation: { values: ["vm"], random: textBut(/^(none|bubblewrap)$/) },
    "apps-domain": { values: ["UP.example", "-a", "a..b"] },
    repos: { values: ["none", "acme/web"], random: textBut(/^[./ ]+$/) },
    config: path,
    seed: path,
    url: { values: ["ftp://a", "http://", "a b"], random: textBut(/^https?:/i) },
    migrate: { values: ["maybe", "no"], random: textBut(/^(true|false)$/) },
    profile: { values: ["none", "a b", "../x", "__proto__"], random: textBut(/^$/) },
    to: instant,
    "expires-at": { ...instant, values: [...instant.values, "2020-01-01T00:00:00Z"] },
    role: { values: ["king", "OWNER"], random: textBut(/^(owner|admin|developer|viewer)$/) },
    scopes: { values: ["everything", "*,all", "projects"], random: textBut(/\*|read|write/) },
    name: { values: ["\u0000", "x".repeat(101)] },
    "keys create name": { values: [" ", "x".repeat(65)] },
    endpoint: {
      values: ["a b", "https://shop.inbox.test", "shop/in", "x".repeat(254)],
      random: textBut(/^[^\s/?#@\\^|<>%]+$/),
    },
    forward: {
      values: ["localhost", "http://", "ftp://localhost", "a b", "NULL"],
      random: textBut(/^https?:|^null$/i),
    },
    next: { values: ["work", "Deployment", "deployment,generation"], random: textBut(/^(deployment|generation)$/) },
    "forward-to": { values: ["http://", "ftp://a", "a b", ":"] },
    responses: {
      values: ["soon", "200,", "199", "200,600", "[200", '{"drop":false}', "true"],
      random: textBut(/\d|[[{]/),
    },
    times: { values: ["0", "-1", "1.5", "1000001", "many", "null"], random: textBut(/\d/) },
    nth: { values: ["0", "-1", "1.5", "1000001", "second", "null"], random: textBut(/\d/) },
    retries: { values: ["1", "30s,", "soon"], random: textBut(/\d[smhd]/) },
    junit: { values: ["no-such-folder/verify.xml"] },
    upstream: { values: ["svc.example.com", "ftp://a", "https://a:b@c", "https://a/?b"], random: textBut(/^https?:/i) },
    test: { values: ["mocha", "node"], random: textBut(/^(node:test|vitest|jest)$/i) },
    "record host": { values: ["0.0.0.0", "example.com"] },
    events: {
      values: ["deployment.faild", "*,deployment.faild", "deployment.failed,"],
      random: textBut(/\w\.\w|^ *\* *$/),
    },
  };
/** Flags that accept any text, or check it only later. */
const free = [
  "field",
  "new-key-file",
  "project",
  "root",
  "environment",
  "host",
  "database",
  "key-file",
  "organization",
  "from",
  "assets-folder",
  "apps-folder",
  "out",
];

/** Expects one sentence about this flag, and the command that shows more. */
function explains(message: string, name: string): void {
  assert.match(message, /^svc-server: .+\nSee svc-server [\w -]*--help\.\n$/s);
  assert.ok(
    message.includes(`--${name}`) || /^svc-server: the (seed|configuration) file |profile/.test(message),
    message,
  );
  assert.doesNotMatch(message, /\n\s+at |TypeError|undefined|\[object|SQLITE|Invalid/, message);
}

/** Skipped: `login --profile` accepts new names; `doctor` has the options of `start`, and goes on with many checks. */
const isUntried = (name: string, flag: string) =>
  (name === "login" && flag === "profile") || (name === "doctor" && flag !== "port" && !isLong);

test("every flag takes a value that is checked, or none", { timeout: 180_000 }, async (t) => {
  const { folder } = userFolder(t);
  let running: readonly string[] | undefined;
  // Stops a server that a value has started by mistake, or this process would never end.
  t.after(() => {
    // After another failure the signal would end this process before it has named the failure.
    if (!running) return;
    process.stderr.write(`${running.join(" ")} is not refused: it runs\n`);
    process.emit("SIGTERM", "SIGTERM");
  });
  const refused = async (given: readonly string[], name: string) => {
    running = given;
    const { code, message = "" } = await command(given);
    running = undefined;
    assert.equal(code, 2, `${given.join(" ")}: ${message}`);
    explains(message, name);
  };
  const variables = { SVC_URL: "http://127.0.0.1:1", SVC_API_KEY: "sk_live_demo", XDG_CONFIG_HOME: folder };
  const before = { ...process.env };
  Object.assign(process.env, variables);
  t.after(() => {
    for (const name of Object.keys(variables)) delete process.env[name];
    Object.assign(process.env, before);
  });
  // Each command adds its own signal listeners.
  process.setMaxListeners(0);
  const classified = [...Object.keys(wrong).filter((flag) => !flag.includes(" ")), ...free];
  const tried = new Set<string>();
  for (const [name, flags] of await allCommands(commands as Declared)) {
    const begin = name.split(" ");
    const { [name]: rest = [] } = words;
    for (const flag of flags) {
      const after = (flag.name === "to" && name === "clock advance") || flag.name === "forward-to" ? [] : rest;
      if (flag.type === "boolean") {
        await refused([...begin, `--${flag.name}=x`, ...after], flag.name);
        continue;
      }
      assert.ok(classified.includes(flag.name), `--${flag.name} is missing here`);
      tried.add(flag.name);
      await refused([...begin, `--${flag.name}=`, ...after], flag.name);
      if (rest[0] !== "--") await refused([...begin, ...after, `--${flag.name}`], flag.name);
      if (isUntried(name, flag.name)) continue;
      const { values = [], random } = wrong[`${name} ${flag.name}`] ?? wrong[flag.name] ?? {};
      for (const value of values) await refused([...begin, `--${flag.name}=${value}`, ...after], flag.name);
      if (random)
        await fc.assert(
          fc.asyncProperty(random, (value) => refused([...begin, `--${flag.name}=${value}`, ...after], flag.name)),
          runs(3),
        );
    }
    await refused([...begin, "--no-such-flag", ...rest], "no-such-flag");
  }
  assert.deepEqual([...tried].sort(), classified.sort());
  assert.deepEqual(readdirSync(folder), [], "nothing was made");
});
