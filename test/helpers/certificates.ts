import { createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { isoOf } from "../../lib/kernel/clock.ts";

/**
 * Creates certificates at run time, so the repository contains none that expires. A minimal implementation of X.509 and
 * DER.
 */
export interface Certificate {
  readonly name: string;
  readonly key: string;
  readonly cert: string;
}

export interface Wanted {
  readonly names?: readonly string[];
  /** IPv4 addresses. */
  readonly addresses?: readonly string[];
  /** Milliseconds since 1970. */
  readonly from?: number;
  readonly to?: number;
  /** The issuer; by default the certificate is self-signed. */
  readonly issuer?: Certificate;
  /** Whether it may sign other certificates. */
  readonly signs?: boolean;
}

const day = 86_400_000;

export function certificate({
  names = ["localhost"],
  addresses = [],
  from = Date.now() - day,
  to = Date.now() + day,
  issuer,
  signs = false,
}: Wanted = {}): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const version = der(0xa0, der(0x02, Buffer.of(2)));
  const serial = der(0x02, Buffer.concat([Buffer.of(1), randomBytes(8)]));
  const spki = publicKey.export({ type: "spki", format: "der" });
  const name = names[0] ?? addresses[0] ?? "nobody";
  const from_to = sequence(time(from), time(to));
  const body = sequence(
    ...[version, serial, ecdsaWithSha256, nameOf(issuer?.name ?? name), from_to, nameOf(name), spki],
    der(0xa3, sequence(alternatives(names, addresses), ...(signs ? [authority] : []))),
  );
  const signer: KeyObject = issuer ? createPrivateKey(issuer.key) : privateKey;
  const signature = der(0x03, Buffer.concat([Buffer.of(0), sign("sha256", body, signer)]));
  return {
    name,
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    cert: pem(sequence(body, ecdsaWithSha256, signature)),
  };
}

function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.of(tag, ...size), content]);
}

const sequence = (...parts: readonly Uint8Array[]) => der(0x30, ...parts);
const objectId = (hex: string) => der(0x06, Buffer.from(hex, "hex"));
const octets = (content: Buffer) => der(0x04, content);

const ecdsaWithSha256 = sequence(objectId("2a8648ce3d040302"));
const nameOf = (text: string) => sequence(der(0x31, sequence(objectId("550403"), der(0x0c, Buffer.from(text)))));
/** GeneralizedTime: `20260101000000Z`. OpenSSL reads it for years before 2050 as well. */
const time = (at: number) =>
  der(
    0x18,
    Buffer.from(
      isoOf(at)
        .replace(/\.\d+Z$/, "Z")
        .replace(/[-:T]/g, ""),
    ),
  );

const alternatives = (names: readonly string[], addresses: readonly string[]) =>
  sequence(
    objectId("551d11"),
    octets(
      sequence(
        ...names.map((name) => der(0x82, Buffer.from(name))),
        ...addresses.map((address) => der(0x87, Buffer.from(address.split(".").map(Number)))),
      ),
    ),
  );

/** basicConstraints, critical: this is an authority. */
const authority = sequence(objectId("551d13"), der(0x01, Buffer.of(255)), octets(sequence(der(0x01, Buffer.of(255)))));

/** Lines of 64 characters. An empty last line would make OpenSSL stop reading. */
const pem = (bytes: Buffer) =>
  [
    "-----BEGIN CERTIFICATE-----",
    ...(bytes.toString("base64").match(/.{1,64}/g) ?? []),
    "-----END CERTIFICATE-----",
    "",
  ].join("\n");
