import { createHash } from "node:crypto";
import * as v from "valibot";
import type { BackendResponse } from "../../drivers/outbound/backend-request.ts";
import type { Outbound } from "../../drivers/outbound/outbound.ts";
import { defaultRegistry, type ImageReference, isLoopbackRegistry } from "../../kernel/text/image-reference.ts";
import { parseJson } from "../../kernel/text/json.ts";
import { parseUrl } from "../../kernel/text/url.ts";
import { Failure } from "../runtime/failure.ts";
import type { Credential } from "./credentials.ts";

/** All kinds of manifests and indexes that engines accept. */
const accept = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
  "application/vnd.docker.distribution.manifest.v2+json",
].join(", ");

const digestForm = /^sha256:[0-9a-f]{64}$/;
const timeout_ms = 20_000;
const maxManifest = 4 * 1024 * 1024;

interface Ports {
  readonly outbound: Pick<Outbound, "callBackend">;
  readonly credential: Credential | undefined;
  readonly signal: AbortSignal;
}

/** OpenSSL's error for an answer without TLS. */
const speaksPlainHttp = /^TLS: (ssl3_get_record:)?(wrong version number|packet length too long|http request)/;

const basic = ({ username, password }: Credential) =>
  `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;

/** The parameters of a challenge: `Bearer realm="…",service="…",scope="…"`. */
const parametersOf = (challenge: string) =>
  new Map(
    [...challenge.matchAll(/\b([a-z]{1,20})="([^"]{0,2000})"/gi)].map(([, name = "", value = ""]) => [
      name.toLowerCase(),
      value,
    ]),
  );

const text = v.fallback(v.string(), "");
const token = v.object({ token: text, access_token: text });

/**
 * The current digest of an image in its registry. The engine is not asked: its image may be older, or another user's.
 */
export async function resolveDigest(image: ImageReference, ports: Ports): Promise<string> {
  const { registry, repository } = image;
  const scheme = isLoopbackRegistry(image) ? "http" : "https";
  const host = registry === defaultRegistry ? "registry-1.docker.io" : registry;
  const url = `${scheme}://${host}/v2/${repository}/manifests/${image.digest ?? tagOf(image)}`;
  const asked = { headers: { accept }, url, max_bytes: maxManifest };
  const first = await ask(image, ports, { ...asked, method: "HEAD" });
  const authorization = first.status === 401 ? await authorize(image, first, ports) : undefined;
  const headers = { accept, ...(authorization && { authorization }) };
  const head = authorization ? await ask(image, ports, { ...asked, headers, method: "HEAD" }) : first;
  refuse(image, head, ports);
  if (image.digest !== null) return image.digest;
  const digest = head.headers?.["docker-content-digest"];
  if (typeof digest === "string" && digestForm.test(digest)) return digest;
  // A registry may omit the digest, which is the hash of the manifest.
  const whole = await ask(image, ports, { ...asked, headers, method: "GET" });
  refuse(image, whole, ports);
  if (whole.error !== null) throw new Failure(`the manifest of ${registry} cannot be read: ${whole.error}`);
  if (whole.bytes.length === 0) throw new Failure(`the registry ${registry} answers without a manifest`);
  return `sha256:${createHash("sha256").update(whole.bytes).digest("hex")}`;
}

const tagOf = ({ tag }: ImageReference) => tag ?? "latest";

type Question = Pick<Parameters<Outbound["callBackend"]>[0], "method" | "url" | "headers" | "max_bytes">;

async function ask({ registry }: ImageReference, { outbound, signal }: Ports, question: Question) {
  const answer = await outbound.callBackend({
    ...question,
    trustedOrigins: [],
    isOfCaller: true,
    timeout_ms,
    signal,
  });
  if (signal.aborted) throw new Failure("it was ended");
  const asked = new URL(question.url).host;
  const of = asked === registry ? `the registry ${registry}` : `${asked}, to which the registry ${registry} leads,`;
  if (answer.error === "address_not_allowed")
    throw new Failure(
      `${of} is at an address that is not public; the operator opens it with the option outbound.allow`,
    );
  if (speaksPlainHttp.test(answer.error ?? ""))
    throw new Failure(`${of} answers in plain http, which is allowed only for a registry on this machine; give it TLS`);
  if (answer.status === null) throw new Failure(`${of} does not answer: ${answer.error}`);
  return answer;
}

/** Throws the reason if the registry returned no manifest. */
function refuse(image: ImageReference, { status }: BackendResponse, { credential }: Ports): void {
  const { registry, repository, digest } = image;
  if (status === 200) return;
  const version = digest === null ? `:${tagOf(image)}` : `@${digest}`;
  if (status === 404) throw new Failure(`the registry ${registry} has no image ${repository}${version}`);
  if (status === 401 || status === 403)
    throw new Failure(
      credential
        ? `the registry ${registry} refuses ${repository} to ${credential.username}; correct deployments.registries`
        : `the registry ${registry} does not give ${repository} without a credential; add one to deployments.registries`,
    );
  if (status === 429) throw new Failure(`the registry ${registry} allows no more requests for now (429)`);
  const isRedirect = status !== null && status >= 300 && status < 400;
  throw new Failure(
    `the registry ${registry} answers ${status}${isRedirect ? ", a redirect, which is not followed" : ""}`,
  );
}

/** The authorization that the registry's challenge asks for: the stored credential, or a token. */
async function authorize(image: ImageReference, answer: BackendResponse, ports: Ports): Promise<string | undefined> {
  const { credential } = ports;
  const challenge = String(answer.headers?.["www-authenticate"] ?? "");
  if (/^basic\b/i.test(challenge)) return credential && basic(credential);
  if (!/^bearer\b/i.test(challenge)) return undefined;
  const asked = parametersOf(challenge);
  const realm = parseUrl(asked.get("realm") ?? "");
  const isHere = isLoopbackRegistry(image) && realm !== undefined && isLoopbackRegistry({ registry: realm.host });
  const isSafe = realm?.protocol === "https:" || (realm?.protocol === "http:" && isHere);
  if (!realm || !isSafe || realm.username !== "")
    throw new Failure(`the registry ${image.registry} names no https URL for its tokens`);
  const service = asked.get("service");
  if (service !== undefined) realm.searchParams.set("service", service);
  realm.searchParams.set("scope", `repository:${image.repository}:pull`);
  const got = await ask(image, ports, {
    method: "GET",
    url: realm.href,
    headers: { accept: "application/json", ...(credential && { authorization: basic(credential) }) },
    max_bytes: 256 * 1024,
  });
  refuse(image, got, ports);
  const parsed = v.safeParse(token, parseJson(got.bytes.toString()));
  const value = parsed.success ? parsed.output.token || parsed.output.access_token : "";
  if (/^[\x21-\x7e]+$/.test(value)) return `Bearer ${value}`;
  throw new Failure(`the registry ${image.registry} gives no token`);
}
