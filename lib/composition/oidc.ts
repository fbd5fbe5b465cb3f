import type { Settings } from "../config/parse-options.ts";
import type { DashboardAccess } from "../dashboard/access.ts";
import { createOidcPeople } from "../dashboard/oidc-people.ts";
import { type OnRefused, oidcRoutes } from "../dashboard/oidc-routes.ts";
import { createIssuer, loadOpenidClient } from "../drivers/oidc/issuer.ts";
import type { Outbound } from "../drivers/outbound/outbound.ts";
import { wholeAddress } from "../http/client-address.ts";
import type { RequestContext } from "../http/request-context.ts";
import type { Route } from "../http/route.ts";
import type { Features } from "./features.ts";
import type { Mount } from "./mount.ts";
import type { Foundation } from "./open-store.ts";

type WithOidc = Pick<Settings, "dashboard">;

/**
 * Refuses to start if the package that `dashboard.oidc` needs is missing. The issuer is first contacted at the first
 * sign-in.
 */
export async function loadOidc({ dashboard }: WithOidc): Promise<void> {
  const { oidc } = dashboard || {};
  if (oidc) await loadOpenidClient();
}

/** A warning if nobody can sign in through the issuer, because its organization does not exist. */
export async function oidcWarnings({ dashboard }: WithOidc, { organizations }: Features): Promise<string[]> {
  const { oidc } = dashboard || {};
  if (!oidc || (await organizations.chosen(oidc.organization))) return [];
  const which =
    oidc.organization === undefined
      ? "there is not exactly one organization, so name one with the option dashboard.oidc.organization"
      : `there is no organization "${oidc.organization}", which the option dashboard.oidc.organization names`;
  return [`nobody can sign in with OpenID Connect: ${which}`];
}

interface Surroundings {
  readonly features: Features;
  readonly outbound: Outbound;
  readonly access: DashboardAccess;
  readonly mount: Mount;
}

/** The ways to sign in to the dashboard, with the OpenID Connect routes if the option names an issuer. */
export function signInMethodsOf(
  { log, clock, encryption, random }: Foundation,
  { mode, dashboard, publicUrl, basePath, behindProxy }: Settings,
  { features, outbound, access, mount }: Surroundings,
) {
  const { keySignIn: key = true, oidc = undefined } = dashboard || {};
  if (!oidc) return { signInMethods: { key, oidc: null }, routes: [] as Route[] };
  const { name = new URL(oidc.issuer).host, ...client } = oidc;
  // The issuer sends browsers back to the public URL, so the sign-in starts there too. Otherwise its cookie belongs
  // to another host.
  const signInMethods = { key, oidc: { name, url: `${publicUrl ?? ""}${basePath}/dashboard/oidc` } };
  const { sessions } = features;
  const issuer = createIssuer({ ...client, name }, outbound);
  const begin = createOidcPeople({ ...features, oidc });
  const place = { mode, access, publicUrl, basePath, inner: mount.inner };
  const ports = { ...place, issuer, encryption, random, clock, log, sessions, begin };
  const clientOf = ({ incoming, auditId }: RequestContext) => ({
    address: incoming && wholeAddress(incoming, behindProxy),
    request_id: auditId(),
  });
  const onRefused: OnRefused = async ({ organization_id, user_id }, client) =>
    features.audit.recordRefusedSignIn({
      organization_id: organization_id ?? (await features.organizations.chosen(oidc.organization))?.id,
      user_id: user_id ?? undefined,
      ...client,
    });
  return { signInMethods, routes: oidcRoutes({ ...ports, clientOf, onRefused }) };
}
