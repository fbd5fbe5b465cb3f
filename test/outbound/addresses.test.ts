import assert from "node:assert/strict";
import { BlockList, isIP } from "node:net";
import { describe, test } from "node:test";
import { isAllowed, parseAllow } from "../../lib/drivers/outbound/address-policy.ts";
import { createOutbound } from "../../lib/drivers/outbound/outbound.ts";
import { hostPortOf, parseHttpsUrl } from "../../lib/drivers/outbound/target.ts";
import { parseAddress, sameAddress } from "../../lib/kernel/text/ip-address.ts";
import fc from "../helpers/fast-check.ts";
import { alwaysClosed, mangled, names, nearTargets, notPublic, open } from "../helpers/hostile-urls.ts";
import { runs } from "../helpers/properties.ts";
import { startRaw } from "../helpers/webhook-receiver.ts";

const nothing = parseAllow([]);
const all = parseAllow(["0.0.0.0/0", "::/0", "localhost:443", "metadata.example:443"]);
const here = hostPortOf(new URL("https://hooks.example"));
const local = hostPortOf(new URL("https://localhost"));
const four = fc.tuple(...Array(4).fill(fc.nat(255))).map((parts) => parts.join("."));
const groups = fc.array(fc.nat(0xffff), { minLength: 8, maxLength: 8 });
const colons = (parts: readonly number[]) => parts.map((part) => part.toString(16)).join(":");

/** The same lists as Node's BlockList, for comparison. */
function listOf(...ranges: readonly string[]) {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = "", prefix] = range.split("/");
    list.addSubnet(address, Number(prefix), isIP(address) === 6 ? "ipv6" : "ipv4");
  }
  return (address: string) => list.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
}

describe("the corpus", () => {
  test("has at least 300 URLs, and no URL twice", () => {
    const urls = [...notPublic, ...mangled, ...open];
    assert.ok(urls.length >= 300, `${urls.length} URLs`);
    assert.deepEqual(
      urls.filter((url, index) => urls.indexOf(url) !== index),
      [],
    );
  });

  const resolve = async (host: string) => names[host] ?? ["93.184.215.14"];

  test("opens no connection in the mode start", async (t) => {
    const canary = await startRaw(() => assert.fail("a connection was opened"), { plain: true });
    t.after(canary.close);
    const outbound = createOutbound({ mode: "start", resolve });
    for (const url of notPublic) {
      const there = url.replace("<port>", String(canary.port));
      assert.match((await outbound.checkUrl(there)) ?? "", /^must lead to public addresses only, /, there);
      const { duration_ms, ...sent } = await outbound.send({ url: there, headers: {}, body: "{}" });
      assert.deepEqual(sent, { status: null, error: "address_not_allowed", response: null }, there);
    }
    for (const url of mangled) {
      assert.match((await outbound.checkUrl(url)) ?? "allowed", /^must (begin|be|have|not contain) /, url);
      const { error } = await outbound.send({ url, headers: {}, body: "{}" });
      assert.match(error ?? "sent", /^the URL must /, url);
    }
    assert.equal(canary.accepted(), 0);
  });

  test("public addresses are allowed in both modes", async () => {
    for (const mode of ["start", "dev"] as const) {
      const outbound = createOutbound({ mode, resolve });
      for (const url of open) assert.equal(await outbound.checkUrl(url), undefined, url);
    }
  });

  test("the mode dev opens private addresses; link-local and metadata addresses stay closed even where allowed", async () => {
    const dev = createOutbound({ mode: "dev", resolve });
    for (const url of nearTargets) assert.equal(await dev.checkUrl(url), undefined, url);
    for (const mode of ["start", "dev"] as const) {
      const allow = ["0.0.0.0/0", "::/0", ...Object.keys(names).map((host) => `${host}:443`)];
      const outbound = createOutbound({ mode, resolve, allow });
      for (const url of nearTargets) assert.equal(await outbound.checkUrl(url), undefined, url);
      for (const url of alwaysClosed)
        assert.match((await outbound.checkUrl(url)) ?? url, /never to link-local or metadata addresses$/, url);
    }
  });
});

describe("addresses", () => {
  test("IPv4 is classified as Node's own lists classify it", () => {
    const near = listOf("10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16");
    const reserved = listOf(
      ...["0.0.0.0/8", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24"],
      ...["203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"],
    );
    const closed = listOf("169.254.0.0/16", "168.63.129.16/32", "100.100.100.200/32", "192.0.0.192/32");
    const heads = ["10", "100.64", "100.127", "127", "169.254", "172.16", "172.31", "192.168", "192.0.0", "198.19"];
    const likely = fc
      .tuple(fc.constantFrom(...heads), four)
      .map(([head, rest]) => [...head.split("."), ...rest.split(".")].slice(0, 4).join("."));
    fc.assert(
      fc.property(fc.oneof(four, likely), (address) => {
        const isPublic = !near(address) && !reserved(address) && !closed(address);
        assert.equal(isAllowed("start", nothing, address, here), isPublic);
        assert.equal(isAllowed("dev", nothing, address, here), isPublic || (near(address) && !closed(address)));
        assert.equal(isAllowed("start", all, address, here), !closed(address));
      }),
      runs(200),
    );
  });

  test("IPv6 is classified as Node's own lists classify it", () => {
    const global = listOf("2000::/3");
    const special = listOf("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "2620:4f:8000::/48");
    const near = listOf("fc00::/7", "::1/128");
    const closed = listOf("fe80::/10", "fd00:ec2::/32", "fd20:ce::254/128");
    const firsts = [0x2001, 0x2002, 0x2620, 0x2a00, 0x3fff, 0xfc00, 0xfd00, 0xfe80, 0xfec0, 0xff02, 0x100, 0x5f00];
    const likely = fc.tuple(fc.constantFrom(...firsts), groups).map(([first, rest]) => [first, ...rest.slice(1)]);
    fc.assert(
      fc.property(fc.oneof(groups, likely), (parts) => {
        const address = colons(parts);
        const isPublic = global(address) && !special(address);
        assert.equal(isAllowed("start", nothing, address, here), isPublic);
        assert.equal(isAllowed("dev", nothing, address, here), isPublic || (near(address) && !closed(address)));
      }),
      runs(200),
    );
  });

  test("a closed IPv4 address stays closed inside any IPv6 address", () => {
    const closed = fc.oneof(
      fc.tuple(fc.nat(255), fc.nat(255)).map(([a, b]) => [169, 254, a, b]),
      fc.constantFrom([168, 63, 129, 16], [100, 100, 100, 200], [192, 0, 0, 192]),
    );
    fc.assert(
      fc.property(closed, ([a = 0, b = 0, c = 0, d = 0]) => {
        const [high, low] = [(a << 8) | b, (c << 8) | d];
        for (const carrier of [
          ...["::", "::ffff:", "::ffff:0:", "64:ff9b::", "64:ff9b:1::"].map((head) => `${head}${colons([high, low])}`),
          `64:ff9b:1:${colons([high, c, d << 8])}::`,
          `2002:${colons([high, low])}::1`,
          `2001:0:4136:e378:8000:63bf:${colons([high ^ 0xffff, low ^ 0xffff])}`,
        ])
          for (const mode of ["start", "dev"] as const)
            assert.equal(isAllowed(mode, all, carrier, local), false, carrier);
      }),
    );
    // On a network with NAT64 the operator allows its prefix. That opens every address that is not closed itself.
    assert.ok(isAllowed("start", parseAllow(["64:ff9b::/96"]), "64:ff9b::5db8:d70e", here));
    assert.ok(!isAllowed("start", nothing, "64:ff9b::5db8:d70e", here));
  });

  test("all spellings of an address are equal, and two addresses differ", () => {
    fc.assert(
      fc.property(groups, (parts) => {
        const address = colons(parts);
        const padded = parts.map((part) => part.toString(16).padStart(4, "0").toUpperCase()).join(":");
        const short = new URL(`https://[${address}]`).hostname.slice(1, -1);
        assert.ok(sameAddress(address, padded) && sameAddress(address, short));
        assert.equal(sameAddress(address, colons(parts.with(7, parts[7] === 0 ? 1 : 0))), false);
      }),
    );
    fc.assert(fc.property(fc.ipV6(), (address) => assert.equal(parseAddress(address)?.bits, 128, address)));
    fc.assert(fc.property(fc.ipV4(), (address) => assert.equal(parseAddress(address)?.bits, 32, address)));
    assert.ok(!sameAddress("0.0.0.1", "::1"));
    assert.ok(sameAddress("::ffff:127.0.0.1", "::ffff:7f00:1"));
  });

  test("text that is no address is refused, whatever is allowed", () => {
    for (const text of [
      "",
      "localhost",
      "127.1",
      "010.0.0.1",
      "1.2.3.4 ",
      "256.1.1.1",
      "[::1]",
      "::1]/",
      "fe80::1%eth0",
    ])
      assert.equal(isAllowed("dev", all, text, local), false, text);
    fc.assert(fc.property(fc.string(), (text) => isIP(text) !== 0 || !isAllowed("dev", all, text, local)));
  });
});

describe("URLs", () => {
  test("an accepted URL is https, short enough, without credentials, and parses to itself", () => {
    const text = fc.oneof(
      fc.string(),
      fc.webUrl({ validSchemes: ["https"], withFragments: true }),
      fc.string().map((rest) => `https://${rest}`),
    );
    fc.assert(
      fc.property(text, (raw) => {
        const found = parseHttpsUrl(raw);
        if ("problem" in found) return void assert.match(found.problem, /^must /);
        const { protocol, username, password, href } = new URL(found.href);
        assert.deepEqual([protocol, username, password, href], ["https:", "", "", found.href]);
        assert.ok(href.length <= 2048);
        assert.deepEqual(parseHttpsUrl(href), found);
      }),
      runs(100),
    );
  });

  test("with letters of Latin-1 is accepted however often it is parsed", () => {
    // URL.canParse of Node 20 and 22 has a bug that shows only after some thousand calls.
    const wrong = Array.from({ length: 20_000 }, () => parseHttpsUrl("https://münchen.example/")).filter(
      (found) => "problem" in found,
    );
    assert.equal(wrong.length, 0);
  });

  test("may be 2,048 characters long in their stored form", () => {
    const long = `https://example.com/${"x".repeat(2028)}`;
    assert.deepEqual(parseHttpsUrl(long), { href: long });
    assert.deepEqual(parseHttpsUrl(`${long}x`), { problem: "must have at most 2,048 characters" });
    assert.deepEqual(parseHttpsUrl(`https://example.com/${"é".repeat(400)}`), {
      problem: "must have at most 2,048 characters",
    });
    assert.deepEqual(parseHttpsUrl("HTTPS://EXAMPLE.com"), { href: "https://example.com/" });
  });
});
