/** A response, with any content. */
export interface Answer {
  /** `GET /projects?per_page=1` */
  readonly line: string;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Undefined where the text is no JSON. */
  readonly body: unknown;
}

export interface Sent {
  readonly body?: unknown;
  /** Another key than the given one; null sends none. */
  readonly key?: string | null;
}

/** Sends requests to the server on trial. */
export interface Probe {
  send(method: string, path: string, sent?: Sent): Promise<Answer>;
  get(path: string): Promise<Answer>;
  /** GET of any URL, or of a path of the server beside the interface, without a key. */
  open(url: string): Promise<Answer>;
  /** All answers of the interface to this trial so far, but those of its limit. */
  readonly seen: readonly Answer[];
  /** Runs `make` once for each name: checks share what they read and the project that they create. */
  once<T>(name: string, make: () => Promise<T>): Promise<T>;
  /** Runs at the end of the trial, the last one first. */
  atEnd(undo: () => Promise<unknown>): void;
  /** Waits between two polls of running work. */
  pause(ms: number): Promise<void>;
  /** The milliseconds that such work may take. */
  readonly patience_ms: number;
  /** The last answer to this probe, else to the trial; a report names its request id. */
  readonly last: Answer | undefined;
}

/** The server does something else than a sentence says. `answer` shows it, where there is one. */
export class Differs extends Error {
  readonly answer: Answer | undefined;
  constructor(message: string, answer?: Answer) {
    super(message);
    this.answer = answer;
  }
}

/** A sentence that cannot be tried on this server, with the reason. */
export class Untried extends Error {}

/** A sentence of the interface, and how to try it. `run` throws {Differs} or {Untried}; it holds if `run` ends. */
export interface Check {
  readonly chapter: string;
  readonly sentence: string;
  /** Whether it changes something: only with `--write`. */
  readonly writes?: true;
  run(on: Probe): Promise<void>;
}

/** The checks of a chapter, by their sentences. */
export const chapter = (
  name: string,
  checks: Readonly<Record<string, (on: Probe) => Promise<void>>>,
  more: { readonly writes?: true } = {},
): Check[] => Object.entries(checks).map(([sentence, run]) => ({ chapter: name, sentence, run, ...more }));

/** Throws {Differs} unless `holds`; `found` says what the server did instead. */
export function expect(holds: boolean, answer: Answer, found: string): asserts holds {
  if (!holds) throw new Differs(`${answer.line} answered ${answer.status}: ${found}`, answer);
}

export function expectStatus(answer: Answer, ...wanted: readonly number[]): void {
  expect(wanted.includes(answer.status), answer, `expected ${wanted.join(" or ")}`);
}

/** A refusal: any status from 400 to 499 but those of the key, the limit and the time. */
export function expectRefusal(answer: Answer, why: string): void {
  const { status } = answer;
  expect(
    status >= 400 && status < 500 && ![401, 408, 429].includes(status),
    answer,
    `expected a refusal, because ${why}`,
  );
}

/** The value of a field, of a body that may be anything. */
export const field = (body: unknown, name: string): unknown =>
  typeof body === "object" && body !== null ? (body as Readonly<Record<string, unknown>>)[name] : undefined;

/** A record: in the flat form, or in the envelope `{data, meta}`. */
export function recordOf(answer: Answer): Readonly<Record<string, unknown>> {
  const { body } = answer;
  const inner = field(body, "id") === undefined ? field(body, "data") : body;
  expect(typeof inner === "object" && inner !== null && !Array.isArray(inner), answer, "the body is no object");
  return inner as Readonly<Record<string, unknown>>;
}

/** The id of what an answer may have made. */
export const idOf = ({ body }: Answer): unknown => field(body, "id") ?? field(field(body, "data"), "id");

/** The place of a page in its list: `meta` in the flat form, `pagination` in the envelope. */
export const pageOf = ({ body }: Answer) => {
  const page = field(body, "pagination") ?? field(body, "meta");
  return { per_page: field(page, "per_page"), next_cursor: field(page, "next_cursor") ?? undefined };
};

/** The items of a list. */
export function itemsOf(answer: Answer): readonly Readonly<Record<string, unknown>>[] {
  expectStatus(answer, 200);
  const data = field(answer.body, "data");
  expect(Array.isArray(data), answer, "data is no array");
  const isRecord = (item: unknown) => typeof item === "object" && item !== null;
  expect(data.every(isRecord), answer, "an item of data is no object");
  return data as Readonly<Record<string, unknown>>[];
}

/** A short form of a value, for messages. */
export const shown = (value: unknown): string => {
  const text = value === undefined ? "missing" : JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
};
