/**
 * URLs of forbidden targets, and of some allowed ones. Tests replace `<port>` with the port of a loopback listener that
 * counts connections.
 */

/** One IPv4 address in all notations that URL parsers, inet_aton and browsers accept. */
function spellings(address: string): string[] {
  const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number);
  const value = ((a << 24) | (b << 16) | (c << 8) | d) >>> 0;
  const hex = (part: number) => `0x${part.toString(16)}`;
  const octal = (part: number) => `0${part.toString(8)}`;
  const wide = [...address].map((one) => (one === "." ? one : String.fromCodePoint(0xff10 + Number(one)))).join("");
  const ringed = [...address]
    .map((one) => (/[1-9]/.test(one) ? String.fromCodePoint(0x245f + Number(one)) : one))
    .join("");
  return [
    ...[address, `${address}.`, String(value), hex(value), hex(value).toUpperCase(), octal(value)],
    ...[[a, b, c, d].map(hex).join("."), [a, b, c, d].map(octal).join("."), `${hex(a)}.${octal(b)}.${c}.${d}`],
    ...[`${a}.${((b << 16) | (c << 8) | d) >>> 0}`, `${a}.${b}.${(c << 8) | d}`, wide, ringed],
    ...[address.replaceAll(".", "。"), address.replaceAll(".", "．"), address.replaceAll(".", "%2e")],
    [...address].map((one) => `%${one.charCodeAt(0).toString(16)}`).join(""),
  ];
}

const special = ["127.0.0.1", "10.1.2.3", "172.31.255.254", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0"];
const further = [
  "255.255.255.255",
  "224.0.0.1",
  "198.18.0.1",
  "192.0.2.1",
  "168.63.129.16",
  "203.0.113.77",
  "240.0.0.1",
];
const single = ["127.255.255.254", "100.127.255.255", "192.0.0.1", "192.0.0.192", "192.88.99.1", "198.51.100.1"];
const hosts4 = [...new Set([...special, ...further].flatMap(spellings)), ...single, "100.100.100.200"];

const metadata6 = ["fe80::1", "febf::1", "fe80::a9fe:a9fe", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254"];
const carriersOf = (high: string, low: string) => [
  ...["::", "::ffff:", "::ffff:0:", "64:ff9b::", "64:ff9b:1::"].map((head) => `${head}${high}:${low}`),
  ...[`2002:${high}:${low}::`, `2002:${high}:${low}::1`],
];
const metadataCarried = [...carriersOf("a9fe", "a9fe"), ...carriersOf("a83f", "8110")];
const hosts6 = [
  ...["::", "::1", "0:0:0:0:0:0:0:1", "fc00::1", "fd12:3456:789a::1", "fec0::1", "ff02::1", "ff0e::1", "100::1"],
  ...["100:0:0:1::1", "2001::1", "2001:20::1", "2001:db8::1", "3fff::1", "5f00::1", "2620:4f:8000::1", "4000::1"],
  ...["::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::127.0.0.1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8"],
  ...carriersOf("7f00", "1").filter((text) => !text.startsWith("::") && text !== "64:ff9b::7f00:1"),
  ...carriersOf("a00", "1").filter((text) => text !== "::ffff:a00:1"),
  ...["2001:0:4136:e378:8000:63bf:5601:5601", "2002:808:808::1", ...metadata6, ...metadataCarried],
];

/** The addresses of host names. */
const closedNames: Readonly<Record<string, readonly string[]>> = {
  "metadata.google.internal": ["169.254.169.254"],
  metadata: ["169.254.169.254"],
  "metadata.example": ["93.184.215.14", "169.254.169.254"],
  "instance-data.ec2.internal": ["169.254.169.254", "fd00:ec2::254"],
  "wireserver.example": ["168.63.129.16"],
  "mapped.example": ["::ffff:169.254.169.254"],
  "zone.example": ["fe80::1%eth0"],
};
export const names: Readonly<Record<string, readonly string[]>> = {
  ...closedNames,
  localhost: ["127.0.0.1", "::1"],
  "app.localhost": ["127.0.0.1"],
  "last.example": ["93.184.215.14", "2606:4700::1111", "10.0.0.1"],
  "first.example": ["::1", "93.184.215.14"],
  "garbage.example": ["93.184.215.14", "nonsense"],
};

const tricks = [
  ...["127.0.0.1:<port>#@example.com/", "127.0.0.1:<port>?@example.com/", "127.0.0.1:<port>\\@example.com/"],
  ...["\t127.0.0.1:<port>/", "127.0.\n0.1:<port>/", "//127.0.0.1:<port>/", "\\127.0.0.1:<port>/", "127.0.0.1:<port>/ "],
  ...[
    "LOCALHOST:<port>/",
    "localhost.:<port>/",
    "app.localhost:<port>/",
    "@127.0.0.1:<port>/",
    "loc\u00adalhost:<port>/",
  ],
  ...["ⓛⓞⓒⓐⓛⓗⓞⓢⓣ:<port>/", "127.0.0.1:<port>/../..//example.com", "127.0.0.1/", "[::1]/", "localhost/"],
].map((rest) => `https://${rest}`);

const at = (hosts: readonly string[]) => hosts.map((host) => `https://${host}:<port>/hook`);
const inBrackets = (hosts: readonly string[]) => hosts.map((host) => `[${host}]`);

/** Well-formed URLs that the mode start forbids. */
export const notPublic: readonly string[] = [
  ...[...at(hosts4), ...at(inBrackets(hosts6)), ...tricks, "HTTPS://127.0.0.1:<port>"],
  ...at(Object.keys(names).filter((name) => !/localhost$/.test(name))),
];

/** URLs that this service rejects as invalid. */
export const mangled: readonly string[] = [
  ...[
    "",
    "https:",
    "https:/",
    "https://",
    "https://?",
    "https://:443",
    "example.com",
    "//example.com",
    "http://example.com",
  ],
  ...[
    "https:example.com",
    "https:/example.com",
    "https:\\\\example.com",
    " https://example.com",
    "ht\ttps://example.com",
  ],
  ...[
    "\u0000https://example.com",
    "ftp://example.com",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "data:,x",
    "wss://a.example",
  ],
  ...[
    "gopher://127.0.0.1:25/",
    "https://user@example.com",
    "https://user:word@example.com",
    "https://example.com@127.0.0.1",
  ],
  ...[
    "https://example.com:@127.0.0.1",
    "https://:word@example.com",
    "https://example.com:99999",
    "https://example.com:x",
  ],
  ...[
    "https://[::1",
    "https://::1",
    "https://[fe80::1%25eth0]",
    "https://[fe80::1%eth0]",
    "https://[::1].example",
    "https://[1::2::3]",
  ],
  ...["https://1.2.3.4.5", "https://256.1.1.1", "https://0x100000000", "https://4294967296", "https://127.0.0.1.1"],
  ...[
    "https://exa mple.com",
    "https://a%00b.example",
    "https://a<b.example",
    "https://a^b.example",
    "https://a|b.example",
  ],
  ...[`https://example.com/${"x".repeat(5000)}`, `https://example.com/${"é".repeat(500)}`],
];

/** Public addresses, many of them directly next to a forbidden range. */
export const open: readonly string[] = [
  ...[
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.1",
  ],
  ...["169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0", "192.0.1.1"],
  ...["192.0.3.1", "198.17.255.255", "198.20.0.0", "198.51.101.1", "203.0.114.1", "223.255.255.255", "168.63.129.17"],
  ...inBrackets(["2606:4700::1111", "2001:4860:4860::8888", "2a00::1", "2001:200::1", "2620:4f:8001::1", "3ffe::1"]),
  ...["example.com", "example.com.", "EXAMPLE.com:8443", "münchen.example", "127.0.0.1.example", "localhost.example"],
].map((host) => `https://${host}/ü?x=1#y`);

export const nearTargets: readonly string[] = [
  ...["127.0.0.1", "127.255.255.254", "10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "[::1]", "[fd12::1]"],
  ...["localhost", "app.localhost"],
].map((host) => `https://${host}/`);

export const alwaysClosed: readonly string[] = [
  ...[...spellings("169.254.169.254"), ...spellings("168.63.129.16"), "169.254.0.1", "192.0.0.192", "100.100.100.200"],
  ...[...inBrackets([...metadata6, ...metadataCarried]), ...Object.keys(closedNames)],
].map((host) => `https://${host}/`);
