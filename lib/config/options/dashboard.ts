import * as v from "valibot";
import { isLoopbackName } from "../../http/hosts.ts";
import { roles } from "../../kernel/roles.ts";
import { oneOf, textOf } from "../../kernel/validation.ts";
import { checkedText, option, plainUrl, requiredOption, switchOr, visibleText } from "./option-types.ts";

/** Allows http only for an issuer on this machine, in tests: elsewhere the network could read codes and tokens. */
const issuer = checkedText((text) => {
  const { protocol, hostname = "" } = plainUrl(text) ?? {};
  return protocol === "https:" || isLoopbackName(hostname);
}, "must be the https URL of an issuer, such as https://login.example.com/realms/acme; http is for issuers on this machine");

/** The roles of users that a sign-in creates. Only an owner can make an owner. */
const created = roles.filter((role) => role !== "owner");

const oidc = v.strictObject({
  issuer: requiredOption(issuer, {
    help: "The issuer with which people sign in (OpenID Connect), as its discovery document names it. It needs the package `openid-client`.",
    example: '"https://login.example.com/realms/acme"',
  }),
  clientId: requiredOption(visibleText("an identifier"), {
    help: "The identifier of this service at the issuer.",
    example: '"svc-server"',
  }),
  clientSecret: requiredOption(visibleText("a secret"), {
    help: "The client secret from the issuer.",
    example: '"secret_of_svc"',
  }),
  name: option(textOf(1, 64, { trim: true }), {
    help: "The name of the issuer on the page: “Sign in with NAME”. Without it, the host of the issuer.",
    example: '"Acme"',
  }),
  organization: option(textOf(1, 64), {
    help: "The name or identifier of the organization whose people sign in. Without it, the only one of the service.",
    example: '"acme"',
  }),
  create: option(oneOf(created), {
    help: "The role for a person who signs in for the first time and has no user yet: `admin`, `developer` or `viewer`. Without it, such a person is refused.",
    example: '"viewer"',
  }),
});

export const dashboard = switchOr(
  {
    keySignIn: option(v.boolean(), {
      default: true,
      help: "Whether people may sign in to the dashboard with an API key. `false` needs `dashboard.oidc` (`start`).",
    }),
    oidc: v.optional(oidc),
  },
  {
    help: "Serve the dashboard at `/dashboard`: `true`, `false`, or an object of the options below.",
    flag: "no-dashboard",
  },
);
