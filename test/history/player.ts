import { createService, type Options, type Service } from "../../lib/index.ts";
import { createRandom } from "../../lib/kernel/random.ts";
import { allSteps, emptyRecord, stepContext } from "../helpers/all-operations.ts";
import { knownRecords } from "../helpers/known-records.ts";
import { keyOf, seed as organizations, type Reply, start, type Who, type World } from "../helpers/test-service.ts";
import type { Entry } from "./drawn.ts";
import { withoutRan } from "./named-differences.ts";

const roles = ["owner", "admin", "developer", "viewer"] as const;
type Role = (typeof roles)[number];
const isRole = (name: string): name is Role => roles.some((role) => role === name);

/** The key that a service in memory draws with this seed; the other engines get the same bytes. */
export const encryptionKeyOf = (seed: number): Buffer => createRandom(`history ${seed}`).bytes(32);

/** Receivers on the network. They decide by the request itself, since deliveries to several endpoints have no order. */
const receivers = (seed: number, received: string[]) => async (request: Request) => {
  const [delivery, attempt] = ["x-service-delivery", "x-service-attempt"].map((name) => request.headers.get(name));
  const what = `${request.url} ${delivery} ${attempt}`;
  received.push(`${what} ${JSON.stringify([...request.headers])} ${await request.text()}`);
  const fate = createRandom(`${seed} ${what}`).fraction();
  if (fate < 0.1) throw new Error("connection reset");
  if (fate < 0.3) return new Response("try later", { status: 503, headers: { "retry-after": "7" } });
  if (fate < 0.35) return new Response(null, { status: 410 });
  return new Response("fine");
};

export interface Player {
  readonly service: Service<string | null>;
  /** Plays an entry; returns everything that its callers and receivers saw. */
  play(entry: Entry): Promise<string>;
}

/** A service that plays the history of a seed. */
export async function createPlayer(seed: number, options: Options): Promise<Player> {
  const received: string[] = [];
  const seen: string[] = [];
  const service = await createService({
    clock: `manual@${start}`,
    seed: organizations,
    random: `history ${seed}`,
    // Low enough to use up some windows.
    rateLimit: 50,
    transport: receivers(seed, received),
    generations: { media: "fast" },
    logger: { error: (...entry) => void seen.push(`error ${JSON.stringify(entry)}`), warn() {}, info() {}, debug() {} },
    ...options,
  });
  const known = knownRecords();
  const keys = new Map<string, string>(roles.map((role) => [role, keyOf(role)]));
  for (const key of keys.values()) known.add("secrets", key);
  known.add("globex", "proj_01ARZ3NDEKTSV4RRFFQ69G5FAV");

  const send = async (
    method: string,
    path: string,
    headers: readonly (readonly [string, string])[],
    body?: unknown,
  ) => {
    const line = `${method} ${path}`;
    try {
      const answer = await service.fetch(path, { method, headers: headers as [string, string][], body: body as never });
      const text = await answer.text();
      const shown = `${line} ${answer.status} ${JSON.stringify([...answer.headers])} ${text}`;
      seen.push(/^\/_svc\/(clock\/advance|settle)$/.test(path) ? withoutRan(shown) : shown);
      const json = answer.headers.get("content-type")?.startsWith("application/json") && text !== "";
      return { status: answer.status, headers: answer.headers, text, body: json ? JSON.parse(text) : undefined };
    } catch (error) {
      // fetch refused the request, or a fault dropped the connection.
      seen.push(`${line} threw ${error}`);
      return undefined;
    }
  };
  /** Learns from an answer, and replaces the key of a role whose key has ended. */
  const learn = async (path: string, key: string, reply: Reply | undefined) => {
    if (reply === undefined) return;
    if (reply.status < 300) known.learn(reply);
    if (reply.status === 404 || reply.status === 204) known.forget(path);
    for (const one of [reply.body?.key, reply.body?.api_key])
      if (typeof one === "string" && one.startsWith("sk_live_")) known.add("secrets", one);
    if (reply.status !== 401 || !isRole(key)) return;
    // Without an organization's name, the key is for the first one, even after a rename.
    keys.set(key, (await service.keys.create({ role: key })).key);
  };
  const bearer = (key: string) => [["authorization", `Bearer ${keys.get(key) ?? `sk_live_${key}`}`]] as const;

  /** The world of a step; it calls with the current keys. */
  const call: World["call"] = async (who: Who, method, path, body, headers = {}) => {
    const key = who === "stranger" ? "demo_stranger" : who;
    const reply = await send(
      method,
      path,
      [
        ...(who === "nobody" ? [] : bearer(key)),
        ...(body === undefined ? [] : ([["content-type", "application/json"]] as const)),
        ...Object.entries(headers),
      ],
      body === undefined ? undefined : JSON.stringify(body),
    );
    await learn(path, key, reply);
    return reply ?? { status: 0, headers: new Headers(), text: "", body: {} };
  };
  const none = () => {
    throw new Error("no step needs it");
  };
  const here: World = { service, call, events: none, project: none, deploy: none };
  const context = stepContext(here, createRandom(`steps ${seed}`), emptyRecord());
  let turn = 0;

  return {
    service,
    async play(entry) {
      turn += 1;
      const fill = (text: string) => known.fill(text, turn);
      // A step stops at its first refused call.
      if (entry.kind === "step") await allSteps[entry.name]?.(context).catch((error) => seen.push(String(error)));
      else if (entry.kind === "control") {
        const body = entry.body && fill(JSON.stringify(entry.body));
        const type = [["content-type", "application/json"]] as const;
        const reply = await send(entry.method, fill(entry.path), body ? type : [], body);
        if (entry.path.endsWith("/mail")) known.add("tokens", reply?.body.data.at(-1)?.token ?? "none");
      } else {
        const { method, key, body, path } = entry.draft;
        const headers = entry.draft.headers.map(([name, value]) => [name, fill(value)] as const);
        // One request in eight uses a limited key, if there is one.
        const secret = fill("@secrets").slice("sk_live_".length);
        const who = turn % 8 === 0 ? secret : key;
        const at = fill(path);
        const filled = body && Buffer.from(fill(body.toString("latin1")), "latin1");
        await learn(
          at,
          who,
          await send(method, at, [...bearer(who), ...headers], method === "GET" ? undefined : filled),
        );
      }
      return [...seen.splice(0), ...received.splice(0)].join("\n");
    },
  };
}
