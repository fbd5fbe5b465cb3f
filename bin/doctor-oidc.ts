import type { Settings } from "../lib/config/parse-options.ts";
import { createIssuer, loadOpenidClient } from "../lib/drivers/oidc/issuer.ts";
import { IssuerError, shortWords } from "../lib/drivers/oidc/issuer-error.ts";
import { createOutbound } from "../lib/drivers/outbound/outbound.ts";
import { createClock } from "../lib/kernel/clock.ts";
import { createRandom } from "../lib/kernel/random.ts";

/** The tolerated clock difference between the two machines, as for tokens. */
const apart_s = 30;

/**
 * The checks for sign-in with OpenID Connect: the issuer answers, it accepts the redirect address, and its clock
 * agrees.
 */
export function signInChecks(settings: Settings | undefined): [string, () => Promise<string>][] {
  const { oidc } = settings?.dashboard || {};
  if (!settings || !oidc) return [];
  const { issuer } = oidc;
  const { publicUrl, basePath } = settings;
  const redirect_uri = `${publicUrl ?? "http://localhost"}${basePath}/dashboard/oidc/callback`;
  const ask = async (url: string) => {
    const outbound = createOutbound({ mode: "start" });
    const trustedOrigins = [new URL(issuer).origin];
    const limits = { max_bytes: 1_048_576, timeout_ms: 5_000 };
    const answer = await outbound.callBackend({ method: "GET", url, headers: {}, trustedOrigins, ...limits });
    await outbound.close();
    if (answer.status === null) throw new Error(`${url} does not answer: ${answer.error}`);
    return answer;
  };
  const signInUrl = async () => {
    // Loaded first: a missing package is not the issuer's fault.
    await loadOpenidClient();
    const outbound = createOutbound({ mode: "start" });
    const { alphanumeric } = createRandom();
    const checks = { state: alphanumeric(43), nonce: alphanumeric(43), code_verifier: alphanumeric(64), redirect_uri };
    try {
      return await createIssuer({ ...oidc, name: issuer }, outbound).signInUrl(checks);
    } catch (error) {
      if (error instanceof IssuerError)
        throw new Error(`${error.message} ${error.detail}; correct dashboard.oidc.issuer, or start the issuer`);
      throw error;
    } finally {
      await outbound.close();
    }
  };
  return [
    ["issuer", async () => `${issuer} answers; it signs people in at ${shortWords((await signInUrl()).origin)}`],
    [
      "redirect address",
      async () => {
        if (publicUrl === undefined)
          throw new Error(
            "it follows the Host of each request; set publicUrl (--public-url https://svc.example.com), and register it at the issuer",
          );
        const url = await signInUrl();
        url.searchParams.set("prompt", "none");
        const { status, headers } = await ask(url.href);
        if (headers?.location?.startsWith(`${redirect_uri}?`)) return `the issuer sends browsers to ${redirect_uri}`;
        if (status !== null && status >= 400)
          throw new Error(
            `the issuer answers ${status} to a sign-in; register ${redirect_uri} there, and compare dashboard.oidc.clientId`,
          );
        return `register ${redirect_uri} at the issuer; doctor cannot check that, because the issuer reveals it only to browsers`;
      },
    ],
    [
      "clock of the issuer",
      async () => {
        const { headers } = await ask(`${issuer.replace(/\/+$/, "")}/.well-known/openid-configuration`);
        const theirs = Date.parse(headers?.date ?? "");
        if (Number.isNaN(theirs)) return "the issuer's answers have no time";
        const seconds = Math.round((createClock("real").now() - theirs) / 1000);
        if (Math.abs(seconds) <= apart_s) return `within ${Math.abs(seconds)} s of this machine's`;
        const which = seconds > 0 ? "ahead of" : "behind";
        throw new Error(
          `this machine's clock is ${Math.abs(seconds)} s ${which} the issuer's; synchronize both with a time server (timedatectl set-ntp true)`,
        );
      },
    ],
  ];
}
