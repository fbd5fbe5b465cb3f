import type { TestContext } from "node:test";
import type { Options } from "../../lib/index.ts";
import { client, realIssuer } from "./issuer.ts";
import { member, withMembers } from "./members.ts";
import { listeningWorld } from "./raw-sockets.ts";

export const hosted = { mode: "start", clock: "real", random: undefined, rateLimit: 0, addressRateLimit: 0 } as const;

interface More {
  /** Overrides for the option `dashboard.oidc`. */
  readonly oidc?: object;
  readonly keySignIn?: boolean;
  readonly options?: Options;
}

/** A hosted service, and a real issuer that knows members of the organization `acme` and other people. */
export async function signingIn(t: TestContext, { oidc, keySignIn = true, options }: More = {}) {
  const at = await realIssuer(t);
  const setting = { issuer: at.issuer, ...client, name: "Acme ID", organization: "acme", ...oidc };
  const here = await listeningWorld(t, {
    ...hosted,
    seed: withMembers(member("dora", "developer"), member("sally", "viewer")),
    dashboard: { keySignIn, oidc: setting },
    ...options,
  });
  const origin = `http://127.0.0.1:${here.port}`;
  at.serve(origin);
  const { data } = (await here.send("GET", "/v1/users")).body;
  const idOf = (name: string): string => data.find((one: { name: string }) => one.name === name)?.id;
  return { at, here, origin, start: `${origin}/dashboard/oidc`, idOf };
}
