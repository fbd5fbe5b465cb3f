import type { Listening } from "../http/server.ts";
import { notFound, Problem } from "../kernel/errors.ts";

/** The start of a fork. */
export interface ForkOptions {
  /** The snapshot to start from; by default, the present state. */
  readonly from?: string | undefined;
  /**
   * The fork sends nothing: its deliveries are answered by their scripts or with 200, the functions in the options are
   * not called and their work is simulated, and nothing is logged.
   */
  readonly muted?: boolean | undefined;
}

/** A fork that the control interface made, on its own port. */
export interface ListeningFork {
  readonly id: string;
  /** The URLs of its interface and its dashboard. */
  readonly url: string;
  /** The time on its clock. */
  readonly now: string;
  readonly from: string | null;
  readonly muted: boolean;
}

export type Forks = ReturnType<typeof createForks>;

interface Forked {
  iso(): string;
  listen(): Promise<Listening>;
  close(): Promise<void>;
}

/** Few, because each is a whole service in memory. */
const maxForks = 10;

const tooMany = () =>
  new Problem("limit_reached", `there are ${maxForks} forks already, and each is a whole service; delete one first`);

/** The forks made by the control interface. They live as long as their service and survive its restores. */
export function createForks(fork: (options: ForkOptions) => Promise<Forked>) {
  const forks = new Map<string, { readonly service: Forked; readonly about: Omit<ListeningFork, "now"> }>();
  let count = 0;
  let opening = 0;
  const view = ({ service, about }: { service: Forked; about: Omit<ListeningFork, "now"> }): ListeningFork => ({
    ...about,
    now: service.iso(),
  });
  return {
    async create(options: ForkOptions = {}): Promise<ListeningFork> {
      if (forks.size + opening >= maxForks) throw tooMany();
      opening += 1;
      try {
        const service = await fork(options);
        const { url } = await service.listen();
        count += 1;
        const about = { id: `fork_${count}`, url, from: options.from ?? null, muted: options.muted ?? false };
        forks.set(about.id, { service, about });
        return view({ service, about });
      } finally {
        opening -= 1;
      }
    },
    list: (): ListeningFork[] => [...forks.values()].map(view),
    /** Rejects with 404 for an unknown fork. */
    async remove(id: string): Promise<void> {
      const found = forks.get(id);
      if (!found) throw notFound("fork");
      forks.delete(id);
      await found.service.close();
    },
    async close(): Promise<void> {
      const all = [...forks.values()];
      forks.clear();
      await Promise.all(all.map(({ service }) => service.close()));
    },
  };
}
