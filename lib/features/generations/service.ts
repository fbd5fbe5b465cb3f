import type * as v from "valibot";
import { isoOf, latestInstant } from "../../kernel/clock.ts";
import { orNotFound, Problem } from "../../kernel/errors.ts";
import type { Caller } from "../../kernel/operation.ts";
import { mapLong, type PageQuery, paginateLong } from "../../kernel/page.ts";
import { isTerminal } from "../../kernel/state-machine.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { Assets } from "../../store/asset-files.ts";
import type { Row } from "../../store/tables.ts";
import type { Core } from "../core.ts";
import type { WaitOptions } from "../events/wait-for-change.ts";
import type { ScenariosService } from "../scenarios/service.ts";
import { createStepper } from "../scenarios/stepper.ts";
import { isStepped } from "../scenarios/stored-outcome.ts";
import type { AssetLinks } from "./asset-links.ts";
import { workOf } from "./driver-work.ts";
import type { GenerationsExecution } from "./execution.ts";
import { defaults } from "./inputs.ts";
import type { ModelDrivers } from "./model-drivers.ts";
import { usdOf } from "./price-list.ts";
import { generationsRepository } from "./repository.ts";
import type { newGeneration, usageQuery } from "./schema.ts";
import { lifecycle } from "./states.ts";

type Generation = Row<"generations">;

interface Ports extends Pick<Core, "store" | "clock" | "ids" | "queue" | "waiting"> {
  readonly assets: Assets;
  readonly links: AssetLinks;
  readonly modelDrivers: ModelDrivers;
  readonly execution: GenerationsExecution;
  /** Undefined in the mode `start`. */
  readonly scenarios: Pick<ScenariosService, "take"> | undefined;
  /** Option `generations.retention`: how long a file is kept. */
  readonly retention_ms: number;
}

export interface Asset {
  readonly type: string;
  readonly size: number;
  readonly etag: string;
  /** The bytes from `start` to `end`, both inclusive; as a stream if there are many. */
  read(start: number, end: number): Promise<Uint8Array | ReadableStream<Uint8Array>>;
}

const firstDay = "0000-01-01";
const lastDay = "9999-12-31";

export type GenerationsService = ReturnType<typeof generationsService>;

/** The operations on generations. `execution.ts` advances them. */
export function generationsService(ports: Ports) {
  const { store, clock, ids, queue, assets, links, modelDrivers, execution, waiting, scenarios, retention_ms } = ports;
  const generations = store.using(generationsRepository);
  const stepper = createStepper<Generation>({
    store,
    name: "generation",
    lifecycle,
    find: (id) => generations().byId({ id }),
    skipDelay: execution.skipDelay,
    advance: execution.advance,
    statusOf: execution.statusOf,
  });

  const get = ({ organization_id }: Caller, id: string, tx?: Tx): Promise<Generation> =>
    orNotFound(generations(tx).find({ organization_id, id }), "generation");

  const view = (row: Generation) => ({
    id: row.id,
    object: "generation" as const,
    status: execution.statusOf(row),
    progress: execution.progressOf(row),
    model: row.model,
    created_at: Math.floor(Date.parse(row.created_at) / 1000),
    input: JSON.parse(row.input) as Record<string, unknown>,
    output: row.content_type === null ? undefined : outputOf(row, row.content_type),
    usage: { cost_usd: usdOf(row.cost_micros) },
    error:
      row.error_code === null ? undefined : { code: row.error_code, message: row.error_message ?? "it has failed" },
  });
  const outputOf = ({ id, kind }: Generation, type: string) => ({
    type: type.startsWith("video/") ? ("video" as const) : type.startsWith("image/") ? ("image" as const) : kind,
    url: links.make(id, type),
  });

  return {
    /** With `wait.seconds`: returns when the generation ends, at the latest after that time. */
    async get(caller: Caller, id: string, wait: WaitOptions) {
      const work = { organization_id: caller.organization_id, id };
      const read = async () => stepper.polled(await get(caller, id));
      return view(await waiting.until(work, wait, read, ({ status }) => isTerminal(lifecycle, status)));
    },

    step: async (id: string) => view(await stepper.step(id)),

    async list({ organization_id }: Caller, query: PageQuery) {
      const { list, find } = generations();
      const isLong = ({ input }: Generation) => input === "";
      const weigh = (row: Generation) => (isLong(row) ? 2 : 0);
      const rows = paginateLong(query, "generations", { organization_id }, list, { isPaged: true, weigh });
      return mapLong(rows, async (batch) => {
        const [row] = batch;
        if (!row || !isLong(row)) return batch.map(view);
        const whole = await find({ organization_id, id: row.id });
        return whole ? [view(whole)] : [];
      });
    },

    async create(caller: Caller, { model, ...inputs }: v.InferOutput<typeof newGeneration>) {
      const { kind } = modelDrivers.check(model, inputs);
      const { driver } = modelDrivers.of(model);
      const id = ids.next("gen");
      const now = clock.iso();
      // The inputs keep their given order; the defaults follow.
      const input = JSON.stringify({ ...inputs, ...defaults[kind], ...inputs });
      return store.transaction(caller, async (tx) => {
        const fields = { model, prompt: typeof inputs.prompt === "string" ? inputs.prompt : null };
        const taken = driver.takesScenarios ? await scenarios?.take(tx, "generation", fields) : undefined;
        const script = taken ?? null;
        const stepped = isStepped({ script });
        const work = workOf({ id, kind, model, input, script, step_at: now }, clock.now());
        const delay_ms = stepped ? 0 : driver.delay(work);
        const row: Generation = {
          id,
          organization_id: caller.organization_id,
          model,
          kind,
          status: lifecycle.initial,
          input,
          script,
          handle: null,
          ready_at: isoOf(stepped ? latestInstant : clock.now() + delay_ms),
          step_at: now,
          created_at: now,
          completed_at: null,
          cost_micros: 0,
          content_type: null,
          bytes: null,
          etag: null,
          error_code: null,
          error_message: null,
          progress: null,
        };
        await generations(tx).insert(row);
        execution.publish(tx, row);
        if (!stepped) await queue.add(tx, "generations.turn", {}, delay_ms);
        return view(row);
      });
    },

    cancel: (caller: Caller, id: string) =>
      store.transaction(caller, async (tx) => {
        const before = await get(caller, id, tx);
        const after = await execution.end(tx, "cancel", before, "cancelled", "The generation was cancelled");
        if (!after) {
          throw new Problem(
            "not_cancellable",
            `only a queued or running generation can be cancelled; this one is ${execution.statusOf(before)}`,
          );
        }
        if (before.status === "in_progress")
          await queue.add(tx, "generations.cancel", { generation_id: id, handle: before.handle });
        return view(after);
      }),

    async usage({ organization_id }: Caller, { from = firstDay, to = lastDay }: v.InferOutput<typeof usageQuery>) {
      const rows = await generations().usage({ organization_id, from, to });
      const total = rows.reduce(
        (sum, row) => ({ generations: sum.generations + row.generations, micros: sum.micros + row.cost_micros }),
        { generations: 0, micros: 0 },
      );
      return {
        data: rows.map((row) => ({ ...row, cost_usd: usdOf(row.cost_micros) })),
        total: { generations: total.generations, cost_usd: usdOf(total.micros) },
      };
    },

    /** The file of a signed link; undefined if its retention time has passed. */
    async asset(id: string): Promise<Asset | undefined> {
      const row = await generations().byId({ id });
      if (!row?.content_type || row.bytes === null || row.etag === null) return undefined;
      const { content_type: type, bytes: size, etag } = row;
      const sizeOnDisk = await assets.size(id);
      if (sizeOnDisk !== size) {
        const cause = new Error(
          `the file of ${id} has ${sizeOnDisk ?? "no"} bytes, and had ${size} when it was stored`,
        );
        throw new Problem("not_found", "this file is lost: it is missing on the service's disk, or was changed there", {
          cause,
        });
      }
      return { type, size, etag, read: (start, end) => assets.read(id, start, end) };
    },

    /** Runs periodically: removes files whose retention time has passed. */
    async prune() {
      const before = isoOf(Math.max(0, clock.now() - retention_ms));
      for (;;) {
        const rows = await generations().expiredFiles({ before });
        if (rows.length === 0) return;
        await store.transaction("rows", async (tx) => {
          for (const { id } of rows) {
            await generations(tx).clearFile({ id });
            execution.removeFileAfterCommit(tx, id);
          }
        });
      }
    },

    /** Called at start: removes files that a crash left without a record. */
    async sweep() {
      for (const name of await assets.names()) {
        const row = await generations().byId({ id: name });
        if (row?.status !== "in_progress" && !row?.content_type) await assets.remove(name);
      }
    },
  };
}
