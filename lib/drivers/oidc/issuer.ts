import type { ClientAuth, Configuration, CustomFetchOptions } from "openid-client";
import { monotonicNow } from "../../kernel/node/system.ts";
import { fetchClasses } from "../../kernel/node/web.ts";
import { milliseconds } from "../../kernel/text/duration.ts";
import { parseUrl } from "../../kernel/text/url.ts";
import type { Outbound } from "../outbound/outbound.ts";
import { IssuerError, refusalOf, SilentIssuer, shortWords } from "./issuer-error.ts";

/** The values that a sign-in must return: the state and nonce of OpenID Connect, and the verifier of PKCE. */
export interface SignInChecks {
  readonly state: string;
  readonly nonce: string;
  readonly code_verifier: string;
  /** The URL to which the issuer sends the browser back. */
  readonly redirect_uri: string;
}

export interface Person {
  /** Undefined unless the issuer has verified it. */
  readonly email: string | undefined;
  readonly name: string | undefined;
}

export interface IssuerOptions {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly name: string;
}

export type Issuer = ReturnType<typeof createIssuer>;

/** The limits of each request: its time and its response size. */
const timeout_ms = milliseconds("10s");
const max_bytes = 1_048_576;
/** How long the issuer's metadata is cached. Its keys are fetched again when a token has a new key. */
const discoveryLasts_ms = milliseconds("1h");
const clockTolerance_s = 30;

/** Loads the package. It is not a dependency, because few users need it. */
export async function loadOpenidClient() {
  try {
    return await import("openid-client");
  } catch (cause) {
    const message = 'option dashboard.oidc needs the package openid-client. Run "npm install openid-client".';
    throw new Error(message, { cause });
  }
}

type Client = Awaited<ReturnType<typeof loadOpenidClient>>;

function personIn({ email, email_verified, name: called }: Readonly<Record<string, unknown>>): Person {
  // Some issuers, such as Entra, send the value as a string.
  const isVerified = email_verified === true || email_verified === "true";
  return {
    email: typeof email === "string" && isVerified ? email : undefined,
    name: typeof called === "string" ? called : undefined,
  };
}

/** An OpenID Connect issuer: the authorization code flow with PKCE. Its metadata is fetched at the first use. */
export function createIssuer({ issuer, clientId, clientSecret, name }: IssuerOptions, outbound: Outbound) {
  const server = new URL(issuer);
  let cached: { readonly configuration: Promise<Configuration>; readonly since: number } | undefined;
  /** Whether to use the other method of client authentication, because the issuer refused the usual one. */
  let other = false;

  /** Sends requests through the address guard. The operator's issuer may have any address. */
  const fetchGuarded = async (url: string, { method, headers: sent, body, signal }: CustomFetchOptions) => {
    const { status, error, bytes, headers } = await outbound.callBackend({
      method: method === "POST" ? "POST" : "GET",
      url,
      headers: sent,
      body: body === undefined || body === null ? undefined : String(body),
      trustedOrigins: [server.origin],
      max_bytes,
      timeout_ms,
      signal,
    });
    if (status === null || error !== null) throw new SilentIssuer(`${new URL(url).origin}: ${error ?? "no answer"}`);
    const pairs = Object.entries(headers ?? {}).flatMap(([key, value]) =>
      [value ?? []].flat().map((one): [string, string] => [key, one]),
    );
    return new (fetchClasses().Response)(new Uint8Array(bytes), {
      status: status < 200 ? 502 : status,
      headers: pairs,
    });
  };

  const discover = async (): Promise<Configuration> => {
    const client = await loadOpenidClient();
    const ways = [client.ClientSecretBasic(clientSecret), client.ClientSecretPost(clientSecret)];
    const authenticate: ClientAuth = (as, ...more) => {
      const supported = as.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
      const usual = supported.includes("client_secret_basic") ? 0 : 1;
      return ways[other ? 1 - usual : usual]?.(as, ...more);
    };
    const discovered = await client.discovery(
      server,
      clientId,
      { [client.clockTolerance]: clockTolerance_s },
      authenticate,
      {
        [client.customFetch]: fetchGuarded,
        execute: [
          client.enableNonRepudiationChecks,
          ...(server.protocol === "http:" ? [client.allowInsecureRequests] : []),
        ],
        timeout: timeout_ms / 1000,
      },
    );
    // With a multi-tenant address, such as Entra's `common`, a stranger's tenant could vouch for any email address.
    const { issuer: named } = discovered.serverMetadata();
    if (parseUrl(named)?.href === server.href) return discovered;
    const itself = shortWords(named);
    throw new IssuerError(502, `The option dashboard.oidc.issuer is ${issuer}, but the issuer calls itself ${itself}.`);
  };

  const configuration = (): Promise<Configuration> => {
    if (cached && monotonicNow() - cached.since < discoveryLasts_ms) return cached.configuration;
    const asked = discover();
    cached = { configuration: asked, since: monotonicNow() };
    asked.catch(() => forget(asked));
    return asked;
  };

  const forget = (configuration: Promise<Configuration>): void => {
    if (cached?.configuration === configuration) cached = undefined;
  };

  /**
   * Runs a step with the issuer's metadata. If the step fails and the person is not the reason, the metadata could be
   * wrong. It is then fetched again at the next step, so that sign-in works once the issuer is correct.
   */
  const withMetadata = async <T>(step: (client: Client, found: Configuration) => Promise<T>): Promise<T> => {
    const client = await loadOpenidClient();
    const asked = configuration();
    try {
      return await step(client, await asked);
    } catch (error) {
      const { status, isOfClient } = refusalOf(error, name);
      if (status >= 500 && !isOfClient) forget(asked);
      throw error;
    }
  };

  /** Converts every error into an {IssuerError}. */
  const explained = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw refusalOf(error, name);
    }
  };

  /** The claims for email and name, both from one source: the token, else the issuer's userinfo. */
  const exchange = (answer: URL, { state, nonce, code_verifier }: SignInChecks): Promise<Person> =>
    withMetadata(async (client, found) => {
      const tokens = await client.authorizationCodeGrant(found, answer, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: code_verifier,
        idTokenExpected: true,
      });
      const inToken = tokens.claims();
      const isWhole = inToken?.["email"] !== undefined && inToken["email_verified"] !== undefined;
      const { userinfo_endpoint } = found.serverMetadata();
      const claims: Readonly<Record<string, unknown>> =
        isWhole || userinfo_endpoint === undefined || inToken === undefined
          ? (inToken ?? {})
          : await client.fetchUserInfo(found, tokens.access_token, inToken.sub);
      return personIn(claims);
    });

  return {
    name,

    /** The issuer's URL for the browser. Rejects with {IssuerError}. */
    signInUrl: ({ state, nonce, code_verifier, redirect_uri }: SignInChecks): Promise<URL> =>
      explained(() =>
        withMetadata(async (client, found) =>
          client.buildAuthorizationUrl(found, {
            redirect_uri,
            scope: "openid email profile",
            state,
            nonce,
            code_challenge: await client.calculatePKCECodeChallenge(code_verifier),
            code_challenge_method: "S256",
          }),
        ),
      ),

    /** The person from the issuer's answer: the URL to which the browser came back. Rejects with {IssuerError}. */
    personOf: (answer: URL, checks: SignInChecks): Promise<Person> =>
      explained(async () => {
        try {
          return await exchange(answer, checks);
        } catch (error) {
          // The client may be registered for the other authentication method, or the secret is wrong.
          if (other || !refusalOf(error, name).isOfClient) throw error;
          other = true;
          return await exchange(answer, checks).catch((again: unknown) => {
            other = false;
            throw again;
          });
        }
      }),
  };
}
