import type { GenerationDriver } from "../../lib/index.ts";
import type { Random } from "../../lib/kernel/random.ts";
import type { StepRecord } from "../helpers/all-operations.ts";

/** The state of a simulation, and the surroundings of its service: receivers and a backend. */

/** The bodies and attempts of a delivery that the receivers saw. */
type Received = Map<string, { readonly bodies: Set<string>; readonly attempts: Set<string> }>;

export interface Simulation {
  readonly seed: string;
  readonly random: Random;
  readonly folder: string;
  readonly record: StepRecord;
  readonly received: Received;
  /** The records that callers asked to delete. */
  readonly deleted: Set<string>;
  /** Everything that a caller or a receiver saw, in order. */
  readonly journal: string[];
  /** Logged errors, and attempts that arrived twice. */
  readonly errors: string[];
  /** The parts of `coverage` reached so far. */
  readonly reached: Set<string>;
  /** The number of the current life. */
  life: number;
  /** Whether receivers and backends still fail. */
  faulty: boolean;
  /** The files that survive a kill, by the ends of their names. */
  readonly kept: readonly string[];
}

const turn = () => new Promise((next) => setImmediate(next));
export const turns = async (count: number) => {
  for (let i = 0; i < count; i++) await turn();
};
export const below = (random: Random, count: number) => Math.floor(random.fraction() * count);

/** Receivers that answer late, with errors, or not at all. After their service is killed they receive nothing. */
export const receivers = (world: Simulation, life: number, random: Random) => async (request: Request) => {
  const body = await request.text();
  if (world.life !== life) throw new Error("connection reset");
  const [delivery, attempt] = ["x-service-delivery", "x-service-attempt"].map(
    (name) => request.headers.get(name) ?? "",
  );
  world.journal.push(`received ${request.url} ${delivery} ${attempt} ${body}`);
  const { bodies, attempts } = world.received.get(delivery ?? "") ?? { bodies: new Set(), attempts: new Set() };
  world.received.set(delivery ?? "", { bodies: bodies.add(body), attempts });
  // A monitoring provider gets an event and its metrics as separate deliveries.
  if (attempts.has(`${request.url} ${attempt}`)) world.errors.push(`attempt ${attempt} of ${delivery} arrived twice`);
  attempts.add(`${request.url} ${attempt}`);
  const fate = world.faulty ? random.fraction() : 1;
  if (fate < 0.1) throw new Error("connection reset");
  if (fate < 0.3) return new Response("try later", { status: 503 });
  if (fate < 0.4) await turns(below(random, 20));
  return new Response("fine");
};

/** A backend that is busy or slow, fails, or makes a picture. */
export const backend = (world: Pick<Simulation, "faulty">, random: Random): GenerationDriver => {
  const signature = Buffer.from("89504e470d0a1a0a", "hex");
  const progress = async () => {
    const fate = world.faulty ? random.fraction() : 1;
    if (fate < 0.5) return { state: "running", again_ms: 1 + below(random, 5000), handle: "handle" } as const;
    if (fate < 0.6) return { state: "failed", message: "no" } as const;
    const bytes = Buffer.concat([signature, random.bytes(1 + below(random, 5000))]);
    return { state: "done", bytes, cost_usd: 0.01 } as const;
  };
  return { delay: () => 0, submit: progress, poll: progress, cancel: async () => {} };
};
