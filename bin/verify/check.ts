export interface Answer {
  /** `GET /projects?per_page=1` */
  readonly line: string;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Undefined if the text is not JSON. */
  readonly body: unknown;
}

export interface Sent {
  readonly body?: unknown;
  /** Replaces the configured key; null sends none. */
  readonly key?: string | null;
}

export type Item = Readonly<Record<string, unknown>>;

/** A record, and the answer that showed it. */
export interface Made {
  readonly answer: Answer;
  readonly record: Item;
}

export interface Probe {
  send(method: string, path: string, sent?: Sent): Promise<Answer>;
  get(path: string): Promise<Answer>;
  /** GETs any URL, or a path of the server outside the API, without a key. */
  open(url: string): Promise<Answer>;
  /** All API responses in this trial so far, except rate-limit responses. */
  readonly seen: readonly Answer[];
  /** Runs `make` once per name, so checks share data that they read and the project that they create. */
  once<T>(name: string, make: () => Promise<T>): Promise<T>;
  /** Registers cleanup for the end of the trial. The last one runs first. */
  atEnd(undo: () => Promise<unknown>): void;
  /** Waits between two polls of running work. */
  pause(ms: number): Promise<void>;
  /** How long running work may take, in milliseconds. */
  readonly patience_ms: number;
  /** The last response to this probe, else to the trial. Reports include its request id. */
  readonly last: Answer | undefined;
}

/** The part after the prefix, for identifiers that do not exist. */
export const unknownId = "0".repeat(26);

/** The server behaves differently from a sentence. `answer` is the response that shows it, if there is one. */
export class Differs extends Error {
  readonly answer: Answer | undefined;
  constructor(message: string, answer?: Answer) {
    super(message);
    this.answer = answer;
  }
}

/** A sentence could not be tested on this server, with the reason. */
export class Untried extends Error {}

/**
 * A sentence of the API's documentation and its test. The sentence holds if `run` returns; otherwise `run` throws
 * {Differs} or {Untried}.
 */
export interface Check {
  readonly chapter: string;
  readonly sentence: string;
  /** Whether it modifies data, which requires `--write`. */
  readonly writes?: true;
  run(on: Probe): Promise<void>;
}

type Checks = Readonly<Record<string, (on: Probe) => Promise<void>>>;

export const chapter = (name: string, checks: Checks): Check[] =>
  Object.entries(checks).map(([sentence, run]) => ({ chapter: name, sentence, run }));

/** The same for checks that modify data. */
export const changes = (name: string, checks: Checks): Check[] =>
  chapter(name, checks).map((check) => ({ ...check, writes: true }));

/** Throws {Differs} unless `holds`. `found` describes the server's actual behaviour. */
export function expect(holds: boolean, answer: Answer, found: string): asserts holds {
  if (!holds) throw new Differs(`${answer.line} answered ${answer.status}: ${found}`, answer);
}

export function expectStatus(answer: Answer, ...wanted: readonly number[]): void {
  expect(wanted.includes(answer.status), answer, `expected ${wanted.join(" or ")}`);
}

/** Expects a refusal: any status from 400 to 499 except those for the key, rate limits and timeouts. */
export function expectRefusal(answer: Answer, why: string): void {
  const { status } = answer;
  expect(
    status >= 400 && status < 500 && ![401, 408, 429].includes(status),
    answer,
    `expected a refusal, because ${why}`,
  );
}

export const field = (body: unknown, name: string): unknown =>
  typeof body === "object" && body !== null ? (body as Item)[name] : undefined;

/** The record in a response: flat, or in the envelope `{data, meta}`. */
export const recordOf = (answer: Answer): Item => recordIn(answer).record;

export function recordIn(answer: Answer): Made {
  const { body } = answer;
  const inner = field(body, "id") === undefined ? field(body, "data") : body;
  expect(typeof inner === "object" && inner !== null && !Array.isArray(inner), answer, "the body is not an object");
  return { answer, record: inner as Item };
}

/** Expects a success. Any 2xx is one, because the documentation does not say which one a creation returns. */
export function expectSuccess(answer: Answer): Made {
  expect(answer.status >= 200 && answer.status < 300, answer, "expected a success");
  return recordIn(answer);
}

export function expectRemoval(answer: Answer): void {
  expectStatus(answer, 204);
  expect(answer.text === "", answer, `the body is ${shown(answer.text)}`);
}

/** The id of the record that a response may have created. */
export const idOf = ({ body }: Answer): unknown => field(body, "id") ?? field(field(body, "data"), "id");

/** A page's position in its list: `meta` in the flat form, `pagination` in the envelope. */
export const pageOf = ({ body }: Answer) => {
  const page = field(body, "pagination") ?? field(body, "meta");
  return { per_page: field(page, "per_page"), next_cursor: field(page, "next_cursor") ?? undefined };
};

export function itemsOf(answer: Answer): readonly Item[] {
  expectStatus(answer, 200);
  const data = field(answer.body, "data");
  expect(Array.isArray(data), answer, "data is not an array");
  const isRecord = (item: unknown) => typeof item === "object" && item !== null;
  expect(data.every(isRecord), answer, "an item of data is not an object");
  return data as Item[];
}

export function expectFields({ answer, record }: Made, wanted: Item): void {
  for (const [name, value] of Object.entries(wanted))
    expect(
      JSON.stringify(record[name]) === JSON.stringify(value),
      answer,
      `${name} is ${shown(record[name])}, expected ${shown(value)}`,
    );
}

/** Expects that a list has a record, or that it lacks it. */
export function expectListed(list: Answer, id: unknown, isListed = true): void {
  const isThere = itemsOf(list).some((item) => item["id"] === id);
  expect(isThere === isListed, list, `the list ${isListed ? "lacks" : "has"} ${id}`);
}

export async function waitFor(on: Probe, path: string, fits: (status: string) => boolean): Promise<Made> {
  for (let waited = 0; ; waited += 500) {
    const made = recordIn(await on.get(path));
    const { status } = made.record;
    if (fits(String(status))) return made;
    if (waited >= on.patience_ms) throw new Untried(`${path} was still ${status} after ${on.patience_ms / 1_000} s`);
    await on.pause(500);
  }
}

export const shown = (value: unknown): string => {
  const text = value === undefined ? "missing" : JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
};
