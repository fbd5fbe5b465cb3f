import {
  type Answer,
  type Check,
  chapter,
  expect,
  expectRefusal,
  field,
  itemsOf,
  type Probe,
  pageOf,
  shown,
  Untried,
  unknownId,
} from "./check.ts";
import { requestIdOf } from "./probe.ts";
import { isDatetime } from "./shapes.ts";

/** The first page of projects, shared by many checks. */
export const projects = (on: Probe) => on.once("projects", () => on.get("/projects"));

function windowOf(answer: Answer): { limit: number; remaining: number; reset: number } {
  const read = (name: string) => {
    const text = answer.headers.get(name) ?? undefined;
    expect(/^\d+$/.test(text ?? ""), answer, `${name} is ${shown(text)}, expected a whole number`);
    return Number(text);
  };
  return {
    limit: read("x-ratelimit-limit"),
    remaining: read("x-ratelimit-remaining"),
    reset: read("x-ratelimit-reset"),
  };
}

/** The server's time in seconds, from its response. A manual clock may differ far from this machine's. */
function timeOf(answer: Answer): number {
  const text = field(field(answer.body, "meta"), "timestamp") ?? answer.headers.get("date");
  const time = Date.parse(String(text));
  if (Number.isNaN(time)) throw new Untried("the answer does not show the server's time");
  return time / 1_000;
}

/** A limit of at least this counts as none: services without a limit report a very large number. */
const noLimit = 1_000_000;

export const limits: readonly Check[] = chapter("Limits", {
  "A key has 1,000 requests in a window, or more": async (on) => {
    const { limit } = windowOf(await projects(on));
    expect(limit >= 1_000, await projects(on), `X-RateLimit-Limit is ${limit}`);
  },
  "X-RateLimit-Limit, -Remaining and -Reset are on reads and errors": async (on) => {
    const { limit, remaining } = windowOf(await projects(on));
    expect(remaining <= limit, await projects(on), `${remaining} requests remain of ${limit}`);
    windowOf(await on.send("GET", "/projects", { key: null }));
    windowOf(await on.get(`/projects/proj_${unknownId}`));
  },
  "X-RateLimit-Remaining counts requests down": async (on) => {
    const [first, second] = [await on.get("/projects?per_page=1"), await on.get("/projects?per_page=1")];
    const [before, after] = [windowOf(first), windowOf(second)];
    if (before.limit >= noLimit || before.reset !== after.reset) return;
    expect(after.remaining < before.remaining, second, `${after.remaining} requests remain, as many as before`);
  },
  "X-RateLimit-Reset is the Unix timestamp at which a window of 10 minutes resets": async (on) => {
    const answer = await on.get("/projects?per_page=1");
    const left = windowOf(answer).reset - timeOf(answer);
    expect(left > -5 && left <= 605, answer, `the window resets in ${Math.round(left)} s`);
  },
});

export const conventions: readonly Check[] = chapter("General conventions", {
  "Response bodies are JSON": async (on) => {
    for (const path of ["/projects", "/users"]) {
      const answer = await on.get(path);
      const type = answer.headers.get("content-type") ?? "missing";
      expect(/^application\/json\b/.test(type), answer, `content-type is ${shown(type)}`);
      expect(answer.body !== undefined, answer, "the body is not JSON");
    }
  },
  "meta.request_id is present on every response": async (on) => {
    const [project] = itemsOf(await projects(on));
    const paths = ["/projects", "/deployments", "/users", "/integrations", "/webhooks"];
    for (const path of project ? [...paths, `/projects/${project["id"]}`] : paths) {
      const answer = await on.get(path);
      const id = field(field(answer.body, "meta"), "request_id");
      expect(typeof id === "string" && id !== "", answer, `meta.request_id is ${shown(id)}`);
    }
  },
  "meta.request_id is present on errors": async (on) => {
    const answer = await on.get(`/projects/proj_${unknownId}`);
    expect(typeof field(field(answer.body, "meta"), "request_id") === "string", answer, "meta.request_id is missing");
  },
  "meta.timestamp is an ISO 8601 datetime": async (on) => {
    const answer = await projects(on);
    const timestamp = field(field(answer.body, "meta"), "timestamp");
    if (timestamp === undefined) throw new Untried("meta has no timestamp, which the flat form may leave out");
    expect(isDatetime(timestamp), answer, `meta.timestamp is ${shown(timestamp)}`);
  },
  "Each request has its own request id": async (on) => {
    const first = requestIdOf(await on.get("/projects?per_page=1"));
    if (first === undefined) throw new Untried("the answer has no request id");
    const second = await on.get("/projects?per_page=1");
    expect(requestIdOf(second) !== first, second, `two requests have the id ${shown(first)}`);
  },
  "An unknown identifier is refused": async (on) => {
    const prefixes = ["projects/proj", "deployments/dep", "users/usr", "integrations/int", "generations/gen"];
    for (const prefix of prefixes)
      expectRefusal(await on.get(`/${prefix}_${unknownId}`), "nothing has this identifier");
  },
  "A malformed identifier is refused": async (on) =>
    expectRefusal(await on.get("/projects/%27--"), "nothing has this identifier"),
});

/** Reads a list page by page, up to a maximum number of pages. Returns the items. */
async function walk(
  on: Probe,
  path: string,
  per_page: number,
  maxPages: number,
): Promise<{ ids: string[]; isWhole: boolean }> {
  const ids: string[] = [];
  let cursor: unknown;
  for (let page = 0; page < maxPages; page++) {
    const more = cursor === undefined ? "" : `&cursor=${encodeURIComponent(String(cursor))}`;
    const answer = await on.get(`${path}?per_page=${per_page}${more}`);
    const items = itemsOf(answer).map((item) => String(item["id"]));
    expect(items.length <= per_page, answer, `${items.length} items, with per_page=${per_page}`);
    const again = items.find((id) => ids.includes(id));
    expect(again === undefined, answer, `${shown(again)} is on two pages`);
    ids.push(...items);
    cursor = pageOf(answer).next_cursor;
    expect(cursor === undefined || typeof cursor === "string", answer, `next_cursor is ${shown(cursor)}`);
    if (cursor === undefined) return { ids, isWhole: true };
    expect(items.length > 0, answer, "a page without items has a next_cursor");
  }
  return { ids, isWhole: false };
}

const paged = ["/projects", "/deployments"] as const;

/** Expects that a page of each list fits. A page of more than 100 items may be refused. */
async function eachPage(on: Probe, query: string, fits: (count: number, per_page: unknown) => boolean): Promise<void> {
  for (const path of paged) {
    const answer = await on.get(path + query);
    if (query === "?per_page=101" && answer.status >= 400 && answer.status < 500) continue;
    const [{ length }, { per_page }] = [itemsOf(answer), pageOf(answer)];
    expect(fits(length, per_page), answer, `per_page is ${shown(per_page)}, with ${length} items`);
  }
}

export const pagination: readonly Check[] = chapter("Pagination", {
  "per_page is 20 by default": (on) => eachPage(on, "", (count, per_page) => per_page === 20 && count <= 20),
  "per_page is 100 at most": (on) =>
    eachPage(on, "?per_page=101", (count, per_page) => Number(per_page) <= 100 && count <= 100),
  "per_page=1 gives one item, and says so": (on) =>
    eachPage(on, "?per_page=1", (count, per_page) => per_page === 1 && count <= 1),
  "next_cursor leads through the whole list, and is null or absent on the last page": async (on) => {
    for (const path of paged) {
      const whole = await walk(on, path, 100, 1);
      if (!whole.isWhole || whole.ids.length < 2) continue;
      const part = await walk(on, path, Math.ceil(whole.ids.length / 4), 6);
      const missing = whole.ids.find((id) => !part.ids.includes(id));
      if (!part.isWhole || missing !== undefined)
        expect(false, on.last as Answer, `the pages of ${path} lack ${shown(missing)}, or do not end`);
    }
  },
});

/** These checks cover all responses of the trial, so they run last. */
export const everyAnswer: readonly Check[] = [
  ...chapter("Limits", {
    "X-RateLimit-Limit, -Remaining and -Reset are on every response": async (on) => {
      for (const answer of seenBy(on)) windowOf(answer);
    },
  }),
  ...chapter("General conventions", {
    "meta.request_id is present on every response with a body": async (on) => {
      for (const answer of seenBy(on).filter(({ status }) => status !== 204)) {
        const id = field(field(answer.body, "meta"), "request_id");
        expect(typeof id === "string" && id !== "", answer, `meta.request_id is ${shown(id)}`);
      }
    },
  }),
];

function seenBy(on: Probe): readonly Answer[] {
  if (on.seen.length === 0) throw new Untried("the server has answered nothing");
  return on.seen;
}
