import type { AuditService } from "../../features/audit/service.ts";
import type { RecordChange } from "../../features/integrations/previews.ts";
import type { PushesService } from "../../features/integrations/pushes.ts";
import type { Writer } from "../../http/answer.ts";
import { type Authenticator, unauthenticated } from "../../http/authenticate.ts";
import { largeBody, parseBody, readBody } from "../../http/body.ts";
import { wholeAddress } from "../../http/client-address.ts";
import { cancellationOf } from "../../http/limits/cancellation.ts";
import type { FairShares } from "../../http/limits/fair-shares.ts";
import type { RequestContext } from "../../http/request-context.ts";
import { type Route, unnamed, withOtherMethods } from "../../http/route.ts";
import { notFound, Problem } from "../../kernel/errors.ts";
import { maxHookBody } from "../../kernel/limits.ts";
import { isSigned, pushOf } from "./push-payload.ts";
import { requestOf } from "./request-payload.ts";

interface Ports {
  readonly authenticator: Pick<Authenticator, "byAddress">;
  readonly pushes: PushesService;
  readonly writer: Writer;
  /** Option `codeHost.secret`: the secret of the connected app, for integrations without their own. */
  readonly secret: string | undefined;
  /** In the mode `dev`, pushes need no signature if no secret is set. */
  readonly mode: "dev" | "start";
  readonly audit: Pick<AuditService, "record">;
  readonly behindProxy: boolean;
  readonly fairShares: FairShares;
}

const prefix = "/hooks/code-host";

const unauthorized = () =>
  new Problem("unauthorized", "sign the push with the integration's secret: X-Hub-Signature-256 or X-Gitlab-Token");

/**
 * The routes that code hosts post to: a path for each integration, and one for the connected app
 * (schema/webhooks.md#hooks-of-a-code-host). A request counts toward its address's rate limit before its body is read,
 * so that no client can make the service read 5 MiB again and again.
 */
export function hookRoutes(ports: Ports): Route[] {
  const { authenticator, pushes, writer, secret, mode, audit, behindProxy, fairShares } = ports;
  const answer = async (request: RequestContext) => {
    const { header, incoming, auditId } = request;
    const { id } = request.params;
    const integration = id === undefined ? undefined : await pushes.target(id);
    if (id !== undefined && !integration) throw notFound("integration");
    const bytes = await readBody(request, maxHookBody);
    const expected = integration?.secret ?? secret;
    if (expected === undefined ? mode === "start" : !isSigned(expected, bytes, header)) throw unauthorized();
    const event = header("x-gitea-event") || header("x-github-event") || header("x-gitlab-event");
    const read = () => {
      const body = parseBody(bytes, true);
      return pushOf(event, body) ?? requestOf(event, body);
    };
    // A large body is parsed only in its organization's turn, because parsing blocks all other requests.
    const isLarge = incoming !== undefined && bytes.length > largeBody;
    const budget = `${integration?.organization_id ?? request.address()} hooks`;
    if (isLarge) await fairShares.waitForTurn(budget, () => cancellationOf(request, undefined, () => () => {}));
    const hook = isLarge ? fairShares.work(budget, read) : read();
    if (!hook) return writer.list([], request.id);
    const delivery = header("x-github-delivery") ?? header("x-gitea-delivery") ?? header("x-gitlab-event-uuid");
    const byApp = expected !== undefined && integration?.secret === undefined;
    const address = incoming && wholeAddress(incoming, behindProxy);
    const recordChange: RecordChange = (tx, change) =>
      audit.record(tx, { ...change, via: "hook", address, request_id: auditId() });
    const origin = { id, delivery, signed: expected !== undefined, byApp, recordChange };
    return writer.list(await pushes.receive(hook, origin), request.id, 202);
  };
  const post = { method: "POST", name: unnamed, access: authenticator.byAddress, answer } as const;
  return withOtherMethods(
    [
      { ...post, path: prefix },
      { ...post, path: `${prefix}/{id}` },
    ],
    () => unauthenticated,
  );
}
