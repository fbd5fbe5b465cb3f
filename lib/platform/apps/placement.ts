import type { Runtime } from "../../drivers/deployment/contract.ts";
import type { AppKey, Environment, Leftovers, LiveApps } from "../../features/environments/live-apps.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { Row } from "../../store/tables.ts";
import type { Supervisor } from "./supervisor.ts";

/** Orders to another server. Each order is a job, so it survives a crash of either server. */
export interface OtherServer {
  clear(tx: Tx, leftovers: Leftovers): Promise<unknown>;
  /** Resolves once the restart has ended, successful or not. Throws 503 while that server is down. */
  restart(key: AppKey): Promise<void>;
}

/** Where environments run: all on this server, or each on one of the servers that share the database. */
export interface Placement
  extends Pick<LiveApps, "runtimeId" | "runtimeName" | "runtimes" | "assign" | "isHeld" | "obstacle" | "onBack"> {
  /** Whether an environment runs here, or nowhere yet. */
  isHere(app: Pick<Row<"apps">, "runtime_id">): boolean;
  server(runtime_id: string): OtherServer;
  /** The other server that runs an environment; undefined if this one does, or none yet. */
  elsewhere(key: Environment, tx?: Tx): Promise<OtherServer | undefined>;
  appsUrl(runtime_id: string | null): string | undefined;
  /** Whether a release is live in an environment. Throws 503 while the server that runs it is down. */
  isLive(tx: Tx, key: AppKey): Promise<boolean>;

  /** Tells the other servers that rows of apps or runtimes changed. */
  tellOthers(tx: Tx): void;
  tellRestarted(tx: Tx, restart_id: string): void;

  /** Runs before anything else. Throws if this server does not fit the others. */
  begin(): Promise<void>;
  open(): Promise<void>;
  end(): Promise<void>;
}

interface Ports {
  readonly runtime: Pick<Runtime, "name"> | undefined;
  readonly supervisor: Pick<Supervisor, "liveIn"> | undefined;
  readonly appsUrl: () => string | undefined;
}

/** One server runs everything. Rows that were copied from PostgreSQL may still name a runtime. */
export const oneServer = ({ runtime, supervisor, appsUrl }: Ports): Placement => ({
  runtimeId: undefined,
  runtimeName: () => runtime?.name,
  runtimes: () => [],
  isHere: () => true,
  server: (runtime_id) => {
    throw new Error(`there is no server with the runtime ${runtime_id}`);
  },
  elsewhere: async () => undefined,
  appsUrl,
  isLive: async (_, key) => supervisor?.liveIn(key) !== undefined,
  assign: async () => null,
  isHeld: async () => false,
  obstacle: () => undefined,
  onBack() {},
  tellOthers() {},
  tellRestarted() {},
  async begin() {},
  async open() {},
  async end() {},
});
