import type { App } from "../http/app.ts";
import { unauthenticated } from "../http/authenticate.ts";
import type { Handler, Outcome } from "../http/handler.ts";
import type { Hosts } from "../http/hosts.ts";
import type { RequestContext } from "../http/request-context.ts";
import type { Route } from "../http/route.ts";
import { systemTimer } from "../kernel/clock.ts";
import { invalid, notFound, Problem } from "../kernel/errors.ts";
import { monotonicNow } from "../kernel/node/system.ts";
import { milliseconds } from "../kernel/text/duration.ts";
import type { ListedWorld } from "./control/state-calls.ts";

/** The state of a world: a fork without its own port. */
interface Forked {
  readonly state: { readonly wiring: { readonly app: App } };
  iso(): string;
  close(): Promise<void>;
}

interface World {
  readonly made: Promise<Forked>;
  /** The number of requests and connections that use it now. */
  open: number;
  /** When the last use ended, in milliseconds of the machine's clock. */
  usedAt: number;
}

export type Worlds = ReturnType<typeof createWorlds>;

/** Limited, because each is a whole service in memory. */
const maxWorlds = 1_000;
const idleFor_ms = milliseconds("1h");

const tooMany = () =>
  new Problem(
    "limit_reached",
    `there are ${maxWorlds} worlds already; each is removed an hour after its last request, or by DELETE /_svc/worlds/{name}`,
  );

/** The worlds of a service. `make` forks its first state; `failed` gets the error of a close that failed. */
export function createWorlds(make: () => Promise<Forked>, failed: (error: unknown) => void) {
  const worlds = new Map<string, World>();
  let cancel: (() => void) | undefined;

  const begin = (name: string): World => {
    if (worlds.size >= maxWorlds) throw tooMany();
    const world: World = { made: make(), open: 0, usedAt: monotonicNow() };
    worlds.set(name, world);
    world.made.catch(() => worlds.delete(name));
    cancel ??= systemTimer("1m", sweep);
    return world;
  };
  const end = async (name: string, world: World) => {
    worlds.delete(name);
    await world.made.then(({ close }) => close());
  };
  const sweep = () => {
    for (const [name, world] of worlds)
      if (world.open === 0 && monotonicNow() - world.usedAt >= idleFor_ms) void end(name, world).catch(failed);
    cancel = worlds.size > 0 ? systemTimer("1m", sweep) : undefined;
  };

  return {
    /** The interface of a world, which its first use creates. Rejects with a Problem. Call `leave` when the use ends. */
    async enter(name: string): Promise<{ readonly app: App; leave(): void }> {
      if (!/^[A-Za-z0-9._-]{1,64}$/.test(name))
        throw invalid("X-Svc-World", 'must have 1 to 64 letters, digits, ".", "_" or "-"');
      const world = worlds.get(name) ?? begin(name);
      world.open += 1;
      const leave = () => {
        world.open -= 1;
        world.usedAt = monotonicNow();
      };
      const { state } = await world.made;
      return { app: state.wiring.app, leave };
    },
    list: (): Promise<ListedWorld[]> =>
      Promise.all([...worlds].map(async ([name, { made }]) => ({ name, now: await made.then(({ iso }) => iso()) }))),
    /** Rejects with 404 for an unknown world. */
    async remove(name: string): Promise<void> {
      const world = worlds.get(name);
      if (!world) throw notFound("world");
      await end(name, world);
    },
    async close(): Promise<void> {
      cancel?.();
      await Promise.all([...worlds].map(([name, world]) => end(name, world)));
    },
  };
}

/** Passes requests with the header `X-Svc-World` to their world. For other requests it costs one header look-up. */
export function withWorlds(own: Handler, { worlds, hosts }: { worlds: Pick<Worlds, "enter">; hosts: Hosts }): Handler {
  const elsewhere = async (name: string, request: RequestContext, route: Route): Promise<Outcome> => {
    let world: Awaited<ReturnType<Worlds["enter"]>>;
    try {
      world = await worlds.enter(name);
    } catch (error) {
      const answer = () => Promise.reject(error);
      return own(request, { ...route, access: () => unauthenticated, answer });
    }
    const answered = world.app.answer(request, route);
    // A streamed answer or an upgraded connection goes on after the handler returns.
    const used = request.outgoing ?? request.incoming?.socket;
    if (used && !used.destroyed) used.once("close", world.leave);
    else void answered.finally(world.leave).catch(() => {});
    return answered;
  };

  return (request, route) => {
    const name = request.header("x-svc-world");
    if (name === undefined) return own(request, route);
    // A request to a foreign host gets 421 and creates no world.
    const isForeign = request.incoming !== undefined && !hosts.knows(request.header("host"));
    return isForeign ? own(request, route) : elsewhere(name, request, route);
  };
}
