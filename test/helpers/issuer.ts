import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import Provider, { type ClientMetadata, type Configuration } from "oidc-provider";

/** A real OpenID Connect issuer, and a visitor who signs in there without a browser. */

export const client = { clientId: "svc", clientSecret: "secret_of_svc" } as const;

interface Account {
  readonly email?: string;
  readonly email_verified?: boolean;
  readonly name?: string;
}

export interface RealIssuer {
  readonly issuer: string;
  /**
   * The claims of accounts by login name. Other accounts have a verified email address with their name at acme.test.
   */
  readonly accounts: Map<string, Account>;
  /** Starts answering, for a service at this origin. */
  serve(origin: string, client?: Partial<ClientMetadata>, more?: Configuration): void;
  /** Replaces the real issuer's answers; undefined restores them. */
  replace(listener: RequestListener | undefined): void;
  /** Answers like the real issuer. */
  readonly pass: RequestListener;
  close(): void;
}

/** An issuer that listens at once and answers after `serve`. */
export async function realIssuer(t: Pick<TestContext, "after">): Promise<RealIssuer> {
  const accounts = new Map<string, Account>();
  let answer: RequestListener = (_, response) => response.writeHead(503).end();
  let other: RequestListener | undefined;
  const server = createServer((request, response) => (other ?? answer)(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  t.after(close);
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    issuer,
    accounts,
    close,
    pass: (request, response) => answer(request, response),
    replace(listener) {
      other = listener;
    },
    serve(origin, metadata = {}, more = {}) {
      const { clientId: client_id, clientSecret: client_secret } = client;
      const redirect_uris = [`${origin}/dashboard/oidc/callback`];
      const provider = new Provider(issuer, {
        clients: [{ client_id, client_secret, redirect_uris, ...metadata }],
        claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
        cookies: { keys: ["a key of a test"] },
        pkce: { required: () => true },
        findAccount: (_, sub) => ({
          accountId: sub,
          claims: async () => ({
            sub,
            email: `${sub}@acme.test`,
            email_verified: true,
            name: sub,
            ...accounts.get(sub),
          }),
        }),
        ...more,
      });
      answer = provider.callback();
    },
  };
}

interface Reply {
  readonly url: URL;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export type Visitor = ReturnType<typeof visitor>;

/** A minimal browser: it keeps cookies per origin and does not follow redirects by itself. */
export function visitor() {
  const jars = new Map<string, Map<string, string>>();
  const jarOf = (origin: string) => {
    const jar = jars.get(origin) ?? new Map<string, string>();
    jars.set(origin, jar);
    return jar;
  };
  const send = async (to: string | URL, init: RequestInit = {}): Promise<Reply> => {
    const url = new URL(to);
    const jar = jarOf(url.origin);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, {
      ...init,
      redirect: "manual",
      headers: { ...(cookie && { cookie }), ...(init.headers as Record<string, string>) },
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = "", rest = ""] = /^([^=]+)=([^;]*)(.*)$/.exec(line) ?? [];
      if (/max-age=0|expires=Thu, 01 Jan 1970/i.test(rest)) jar.delete(name);
      else jar.set(name, value);
    }
    return { url, status: response.status, headers: response.headers, text: await response.text() };
  };
  const located = ({ url, headers }: Reply) => new URL(headers.get("location") ?? assert.fail("no redirect"), url);

  /**
   * Signs in at the issuer, starting from this address. Returns the address at `origin` to which the issuer redirects.
   */
  const signInAt = async (start: string, origin: string, login: string): Promise<URL> => {
    let reply = await send(start);
    for (let turn = 0; turn < 12; turn++) {
      if (reply.status >= 300 && reply.status < 400) {
        const next = located(reply);
        if (next.origin === origin) return next;
        reply = await send(next);
        continue;
      }
      const action = /<form[^>]* action="([^"]+)"/.exec(reply.text)?.[1] ?? assert.fail(reply.text.slice(0, 2000));
      const prompt = /name="prompt" value="(\w+)"/.exec(reply.text)?.[1] ?? "";
      const body = new URLSearchParams({ prompt, ...(prompt === "login" && { login, password: "any" }) });
      reply = await send(new URL(action, reply.url), { method: "POST", body });
    }
    return assert.fail("the issuer asks for ever");
  };

  return {
    jarOf,
    send,
    located,
    signInAt,
    /** Signs in, starting at the service. */
    signIn: (start: string, login: string) => signInAt(start, new URL(start).origin, login),
  };
}
