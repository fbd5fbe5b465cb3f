import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isAllowed, parseAllow } from "../../lib/drivers/outbound/address-policy.ts";
import { createService } from "../../lib/index.ts";

describe("outbound.allow", () => {
  test("a CIDR opens its addresses at every port, host:port opens one target", () => {
    const allowed = parseAllow(["10.0.0.0/8", "[fd00::]/8", "fc11::/16", "Intern.Example.:8443", "[::1]:8443"]);
    const at = (address: string, host = "hooks.example", port = 443) =>
      isAllowed("start", allowed, address, { host, port });
    assert.ok(at("10.1.2.3") && at("fd12::1") && at("fc11::1"));
    assert.ok(at("11.0.0.0") && !at("172.16.0.1") && !at("fc12::1"));
    assert.ok(at("192.168.1.1", "intern.example", 8443) && at("::1", "[::1]", 8443));
    assert.ok(!at("192.168.1.1", "intern.example", 443) && !at("192.168.1.1", "x.intern.example", 8443));
  });

  test("any other entry is refused with a sentence", () => {
    const wrong = [
      "",
      "*",
      "10.0.0.0",
      "10.0.0.0/33",
      "010.0.0.0/8",
      "fd00::/129",
      "fd00::1",
      "localhost",
      "localhost:0",
    ];
    const more = [
      "localhost:65536",
      "*.example:443",
      "https://x:443",
      "a b:443",
      "x:443/path",
      "u@x:443",
      "10.0.0.0/8 ",
      "/8",
    ];
    for (const entry of [...wrong, ...more])
      assert.throws(() => parseAllow([entry]), /^Error: must be a CIDR such as .*, not ".*"$/, entry);
  });

  test("addresses that stay closed in every mode are refused", async () => {
    const within = ["169.254.169.254/32", "169.254.1.0/24", "169.254.0.0/16", "[fe80::]/64", "fd00:ec2::254/128"];
    for (const entry of [...within, "169.254.169.254:80", "[fd00:ec2::254]:443"])
      assert.throws(
        () => parseAllow([entry]),
        /^Error: must not be ".*": link-local addresses, .* never opened$/,
        entry,
      );
    // A wider range opens the rest of it.
    assert.equal(parseAllow(["169.0.0.0/8", "fd00::/8", "100.64.0.0/10"]).ranges.length, 3);
    const rule =
      /^option outbound\.allow\.0 must be a CIDR such as [^,]*, or host:port such as localhost:8443, not "foo"$/;
    await assert.rejects(createService({ outbound: { allow: ["foo"] } }), ({ message }: Error) => rule.test(message));
  });
});
