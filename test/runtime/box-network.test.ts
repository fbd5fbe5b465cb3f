import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import { type TestContext, test } from "node:test";
import { quoted } from "../../lib/kernel/text/shell-words.ts";
import { needs, obeyingApp, runIn } from "../helpers/obeying-app.ts";
import { runtimeWorld } from "../helpers/running-apps.ts";

/** The outcome of a connection from an app: `open`, or the error. */
const connecting = (to: string) =>
  `new Promise((done) => { const socket = net.connect(${to}); socket.setTimeout(30000, () => done("no answer"));
    socket.on("connect", () => done("open")); socket.on("error", ({ code }) => done(code)); })`;

async function listening(t: TestContext, where: object): Promise<number> {
  const server = createServer((_, response) => response.end("of the machine"));
  t.after(() => server.close());
  await new Promise<void>((resolve) => server.listen(where, resolve));
  const at = server.address();
  return typeof at === "object" && at !== null ? (at as AddressInfo).port : 0;
}

test(
  "An app reaches no port of the machine, no neighbour and no private network but what is opened",
  needs("network"),
  async (t) => {
    const [closed, reached, everywhere] = await Promise.all([
      listening(t, { host: "127.0.0.1", port: 0 }),
      listening(t, { host: "127.0.0.1", port: 0 }),
      listening(t, { host: "0.0.0.0", port: 0 }),
    ]);
    await listening(t, { path: `\0svc-${process.pid}` });
    const here = await runtimeWorld(t, { deployments: { reach: [`127.0.0.1:${reached}`] } });
    const { id } = await here.project("web");
    here.repos.commit("acme/web", obeyingApp);
    await here.release(id);
    await here.release(id, {}, "preview");
    const neighbour = await runIn(here, "process.env.PORT", "preview-web.localhost");
    const own = Object.values(networkInterfaces()).flatMap((list) => (list ?? []).filter(({ internal }) => !internal));
    const ask = (to: object | string) => runIn(here, connecting(JSON.stringify(to)));
    assert.equal(await ask({ port: reached, host: "127.0.0.1" }), "open");
    const refused = [
      ...[closed, everywhere, Number(neighbour)].map((port) => ({ port, host: "127.0.0.1" })),
      ...own.flatMap(({ address, family }) => (family === "IPv4" ? [{ port: everywhere, host: address }] : [])),
      ...["169.254.169.254", "100.100.100.200", "10.0.0.1", "172.16.0.1", "192.168.0.1", "198.18.0.1"].map((one) => ({
        port: everywhere,
        host: one,
      })),
      { port: closed, host: "::1" },
      { path: `\0svc-${process.pid}` },
    ];
    for (const to of refused)
      assert.match(await ask(to), /^(ECONNREFUSED|EINVAL|EHOSTUNREACH|ENETUNREACH)$/, JSON.stringify(to));
    // The link's own network is closed, and of the name server all but the port for names.
    for (const last of [0, 1, 3, 4, 5, 6, 7])
      assert.match(
        await ask({ port: everywhere, host: `198.18.0.${last}` }),
        /^(EINVAL|EACCES|ENETUNREACH)$/,
        String(last),
      );
    const datagram = (port: number) =>
      `new Promise((done) => { const one = require("node:dgram").createSocket("udp4"); one.connect(${port}, "198.18.0.3", (fault) => fault ? done(fault.code) : one.send("x", (error) => done(error?.code ?? "sent"))); })`;
    assert.deepEqual([await runIn(here, datagram(5353)), await runIn(here, datagram(53))], ["EINVAL", "sent"]);
    // A build cannot connect either, and may not change the network.
    const build = `node -e ${quoted(`const net = require("node:net"); ${connecting(JSON.stringify({ port: closed, host: "127.0.0.1" }))}.then(console.log)`)}; ip route del blackhole 10.0.0.0/8; exit 3`;
    here.repos.commit("acme/web", { "svc.json": { build } });
    const lines = await here.messages((await here.release(id)).id);
    assert.ok(lines.includes("ECONNREFUSED"), String(lines));
    assert.ok(
      lines.some((line) => /Operation not permitted|not found/.test(line)),
      String(lines),
    );
  },
);

test("An app that binds every port keeps no other one from its start", needs("network"), async (t) => {
  const here = await runtimeWorld(t);
  const { id } = await here.project("web");
  here.repos.commit("acme/web", obeyingApp);
  assert.equal((await here.release(id)).status, "active");
  const bind = `use Socket; my @held; for my $port ($ARGV[0]..$ARGV[0] + 3500) { socket(my $s, 2, 1, 0); bind($s, pack_sockaddr_in($port, inet_aton("127.0.0.1"))) and listen($s, 1); push @held, $s } $| = 1; print "bound"; sleep 600`;
  const all = `Promise.all(Array.from({ length: 8 }, (_, i) => new Promise((done) => { const child = require("node:child_process").spawn("perl", ["-e", ${JSON.stringify(bind)}, String(32768 + 3501 * i)]); child.stdout.once("data", () => done("bound")); child.once("exit", (code) => done("ended " + code)); })))`;
  assert.equal(await runIn(here, all), Array.from({ length: 8 }, () => "bound").join(","));
  const { status } = await here.release(id, {}, "preview");
  assert.equal(status, "active");
});

/**
 * A DNS rebinding attack: the app's own name server moves a name from a public address to another one, and the app
 * connects by that name.
 */
const rebinding = (address: string, port: number) =>
  `new Promise((done) => { const { Resolver } = require("node:dns"); let asked = 0;
  const server = require("node:dgram").createSocket("udp4");
  server.on("message", (query, { port }) => { const question = query.subarray(12, query.indexOf(0, 12) + 5);
    const address = asked++ === 0 ? [203, 0, 113, 9] : [${address.replaceAll(".", ",")}];
    server.send(Buffer.from([...query.subarray(0, 2), 129, 128, 0, 1, 0, 1, 0, 0, 0, 0, ...question, 192, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...address]), port); });
  server.bind(0, "127.0.0.1", () => { const resolver = new Resolver(); resolver.setServers(["127.0.0.1:" + server.address().port]);
    resolver.resolve4("moves.test", () => { const lookup = (name, _, then) => resolver.resolve4(name, (error, [address] = []) => then(error, [{ address, family: 4 }]));
      const socket = net.connect({ port: ${port}, host: "moves.test", lookup }); socket.setTimeout(30000, () => done("no answer"));
      socket.on("connect", () => done("open")); socket.on("error", ({ code }) => done(code + " " + asked)); }); }); })`;

test(
  "A name that moves leads to no closed address, and there is no way around by IPv6",
  needs("network"),
  async (t) => {
    const port = await listening(t, { host: "::", port: 0 });
    const here = await runtimeWorld(t);
    const { id } = await here.project("web");
    here.repos.commit("acme/web", obeyingApp);
    await here.release(id);
    const own = Object.values(networkInterfaces()).flatMap((list) => (list ?? []).filter(({ internal }) => !internal));
    const ofMachine = own.flatMap(({ address, family }) => (family === "IPv4" ? [address] : []));
    for (const address of ["127.0.0.1", "169.254.169.254", "10.0.0.1", "198.18.0.1", ...ofMachine])
      assert.match(
        await runIn(here, rebinding(address, port)),
        /^(ECONNREFUSED|EINVAL|EHOSTUNREACH|ENETUNREACH) 2$/,
        address,
      );
    // No network interface has an IPv6 address.
    const links = await runIn(here, `fs.readFileSync("/proc/net/if_inet6", "latin1").trim()`);
    assert.match(links, /^(ENOENT|(0{31}1 .* lo)?)$/);
    const addresses = own.flatMap(({ address, family }) => (family === "IPv6" ? [address] : []));
    for (const host of ["2001:4860:4860::8888", "::1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "fd00::1", ...addresses])
      assert.match(
        await runIn(here, connecting(JSON.stringify({ port, host }))),
        /^(ECONNREFUSED|EINVAL|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL)$/,
        host,
      );
  },
);
