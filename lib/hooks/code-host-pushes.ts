import type { Answer, Writer } from "../http/answer.ts";
import { parseBody, readBody } from "../http/body.ts";
import type { RequestContext } from "../http/request-context.ts";
import type { PushesService } from "../integrations/pushes.ts";
import { notFound, Problem } from "../kernel/errors.ts";
import { isSigned, pushOf } from "./push-payload.ts";

interface Ports {
  readonly pushes: PushesService;
  readonly writer: Writer;
  /** Option `codeHost.secret`: of the connected app, for integrations without a secret of their own. */
  readonly secret: string | undefined;
  /** In the mode dev a push is taken without a secret, where none is set. */
  readonly mode: "dev" | "start";
}

const prefix = "/hooks/code-host";
/** CONTRACT section 6: "body limit 5 MiB". */
const bodyLimit = 5 * 1024 * 1024;

const unauthorized = () =>
  new Problem("unauthorized", "sign the push with the integration's secret: X-Hub-Signature-256 or X-Gitlab-Token");

/** Where code hosts post pushes: one address an integration, and one for the connected app. CONTRACT section 6. */
export function createHooks({ pushes, writer, secret, mode }: Ports) {
  return async (exchange: RequestContext): Promise<Answer | undefined> => {
    const [, id] = /^\/hooks\/code-host(?:\/([^/]+))?$/.exec(exchange.path) ?? [];
    if (id === undefined && exchange.path !== prefix) return undefined;
    if (exchange.method !== "POST") {
      throw new Problem("method_not_allowed", "this path takes POST", { headers: { allow: "POST" } });
    }
    const target = id === undefined ? undefined : await pushes.target(id);
    if (id !== undefined && !target) throw notFound("integration");
    const bytes = await readBody(exchange, bodyLimit);
    const expected = target?.secret ?? secret;
    if (expected === undefined ? mode === "start" : !isSigned(expected, bytes, exchange.header)) throw unauthorized();
    const { header } = exchange;
    const body = parseBody(bytes, true);
    const event = header("x-gitea-event") || header("x-github-event") || header("x-gitlab-event");
    const push = pushOf(event, body);
    if (!push) return writer.list([], exchange.id);
    const delivery = header("x-github-delivery") ?? header("x-gitea-delivery") ?? header("x-gitlab-event-uuid");
    const made = await pushes.receive(push, { id, delivery, signed: expected !== undefined });
    return writer.list(made, exchange.id, 202);
  };
}
