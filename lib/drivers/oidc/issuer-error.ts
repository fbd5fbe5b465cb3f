export class SilentIssuer extends Error {
  override readonly name = "SilentIssuer";
}

/** Why an issuer refused a sign-in, as a sentence for the person at the browser. `cause` is for the log. */
export class IssuerError extends Error {
  override readonly name = "IssuerError";
  readonly status: number;
  /** Whether the issuer refused this service, not the person. */
  readonly isOfClient: boolean;

  constructor(
    status: number,
    message: string,
    { cause, isOfClient = false }: { cause?: unknown; isOfClient?: boolean } = {},
  ) {
    super(message, { cause });
    this.status = status;
    this.isOfClient = isOfClient;
  }

  /** The failure for the log. It omits the issuer's responses because they could contain a token. */
  get detail(): string {
    const words = failuresIn(this.cause).flatMap(({ message, error }) => [message, error]);
    return words
      .filter((word) => typeof word === "string")
      .map(shortWords)
      .filter((word) => word !== "")
      .join("; ");
  }
}

interface Failure {
  readonly code?: unknown;
  readonly message?: unknown;
  readonly error?: unknown;
  readonly status?: unknown;
  readonly cause?: unknown;
}

/** Converts an error of `openid-client`. `name` is the issuer's display name. */
export function refusalOf(thrown: unknown, name: string): IssuerError {
  if (thrown instanceof IssuerError) return thrown;
  const [first, ...deeper] = failuresIn(thrown);
  const { code, error, status } = first ?? {};
  const all = [first, ...deeper];
  const silent = all.some((one) => one instanceof SilentIssuer) || code === "OAUTH_TIMEOUT" || code === "OAUTH_ABORT";
  if (silent) return new IssuerError(503, `${name} does not answer. Try again later.`, { cause: thrown });
  if (code === "OAUTH_AUTHORIZATION_RESPONSE_ERROR")
    return new IssuerError(403, `${name} refused the sign-in: ${wordOf(error)}.`, { cause: thrown });
  if (error === "invalid_client" || error === "unauthorized_client" || status === 401) {
    const message = `${name} does not accept this service. Its operator has to correct dashboard.oidc.clientId or clientSecret.`;
    return new IssuerError(502, message, { cause: thrown, isOfClient: true });
  }
  if (error === "invalid_grant")
    return new IssuerError(403, `${name} no longer accepts this code: it was used, or is too old.`, {
      cause: thrown,
    });
  if (code === "OAUTH_JWT_TIMESTAMP_CHECK_FAILED") {
    const message = `The clocks of this service and of ${name} differ too much. An operator has to set them (svc-server doctor).`;
    return new IssuerError(403, message, { cause: thrown });
  }
  const what = typeof code === "string" ? ` (${code})` : "";
  return new IssuerError(502, `${name} gave an answer that is not valid${what}.`, { cause: thrown });
}

/** An error and its chain of causes. A cause that is not an error is a response of the issuer, so it is omitted. */
function failuresIn(thrown: unknown): Failure[] {
  const found: Failure[] = [];
  for (let one = thrown; one instanceof Error && found.length < 8; one = one.cause) found.push(one as Failure);
  return found;
}

const maxCharacters = 200;

/** Text of the issuer for the log or a page: one short line without control characters. */
export function shortWords(text: string): string {
  const start = text
    .slice(0, maxCharacters)
    .replaceAll(/[\s\p{C}]+/gu, " ")
    .trim();
  return text.length > maxCharacters ? `${start}…` : start;
}

/** An error code of the protocol. It came through the browser, so no other text is repeated. */
const wordOf = (error: unknown) =>
  typeof error === "string" && /^[a-z_]{1,64}$/.test(error) ? error : "for no known reason";
