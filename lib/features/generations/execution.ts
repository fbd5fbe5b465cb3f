import { mediaTypeOf } from "../../drivers/generation/media-type.ts";
import { discard, done, type Outcome, snooze } from "../../kernel/job.ts";
import { type Log, reasonOf } from "../../kernel/log.ts";
import { milliseconds } from "../../kernel/text/duration.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import { type Assets, etagOf } from "../../store/asset-files.ts";
import type { Row } from "../../store/tables.ts";
import { describeObstacle, obstacleOfFile, reasonOfObstacle } from "../../store/write-failure.ts";
import type { Core } from "../core.ts";
import { isStepped } from "../scenarios/stored-outcome.ts";
import { createDriverProgress } from "./driver-progress.ts";
import { type Answer, checkAnswer, interrupted, messageOf, ordered, workOf } from "./driver-work.ts";
import { createGenerationQueue, type GenerationQueuePorts } from "./generation-queue.ts";
import type { ModelDriver } from "./model-drivers.ts";
import { costOf, microsOf, usdOf } from "./price-list.ts";
import { generationsRepository, type Movable } from "./repository.ts";
import type { finished } from "./schema.ts";
import type { MoveName } from "./states.ts";

type Generation = Row<"generations">;

interface Ports extends GenerationQueuePorts, Pick<Core, "bus" | "feed" | "log"> {
  readonly assets: Assets;
  readonly driverOf: (model: string) => ModelDriver;
  /** Option `generations.finishedStatus`. */
  readonly finishedStatus: (typeof finished)[number];
}

export type GenerationsExecution = ReturnType<typeof createExecution>;

const warning = (log: Log, generation: string, what: string) => (error: unknown) =>
  log.warn(what, { generation, reason: reasonOf(error) });

/** Advances generations from the stored row, so that they resume after a crash. Losing a race for a move is a no-op. */
export function createExecution(ports: Ports) {
  const { store, clock, bus, feed, log, queue, assets, driverOf, finishedStatus } = ports;
  const generations = store.using(generationsRepository);
  const removeFileAfterCommit = (tx: Tx, id: string) =>
    tx.afterCommit(() => void assets.remove(id).catch(warning(log, id, "a file could not be removed")));
  let stopping = false;

  const statusOf = ({ status }: Generation) => (status === "completed" ? finishedStatus : status);

  /** The completed part, with two decimals; undefined if the driver does not report it. */
  const progressOf = (row: Generation): number | undefined => {
    if (row.status !== "in_progress") return undefined;
    const part = driverOf(row.model).driver.progressOf?.(workOf(row, clock.now()));
    if (part !== undefined) return Math.round(part * 100) / 100;
    return row.progress === null ? undefined : row.progress / 100;
  };

  /** Publishes the state that a generation entered; with `reported_at`, new progress in the same state. */
  const publish = (tx: Tx, row: Generation, reported_at?: string) => {
    const { organization_id, id, step_at } = row;
    const progress = progressOf(row);
    feed.publish(tx, {
      ...({ kind: "generation", organization_id, id, status: statusOf(row), at: reported_at ?? step_at } as const),
      ...(progress !== undefined && { progress }),
      ...(reported_at !== undefined && { isProgress: true }),
    });
  };

  const eventOf = (row: Generation) => {
    return { generation_id: row.id, model: row.model, status: statusOf(row), cost_usd: usdOf(row.cost_micros) };
  };
  const withProgress = createDriverProgress({ ...ports, publish });

  /** Makes a move of the state machine; undefined if the move cannot start from the generation's state. */
  const move = async (tx: Tx, name: MoveName, before: Movable) => {
    const row = await generations(tx).moves[name]({ ...before, at: clock.iso() });
    if (row) publish(tx, row);
    return row;
  };

  const { startReady, runStart, resume } = createGenerationQueue(ports, async (tx, waiting) => {
    const row = await move(tx, "begin", waiting);
    if (row && !isStepped(row)) await queue.addUnique(tx, "generations.advance", { generation_id: row.id }, row.id);
  });

  /** Ends a generation without a file. */
  const end = async (tx: Tx, name: "fail" | "cancel", before: Generation, error_code: string, message: string) => {
    const row = await move(tx, name, { ...before, error_code, error_message: message });
    if (!row) return;
    const error = { code: error_code, message };
    await bus.announce(tx, row.organization_id, "generation.failed", { ...eventOf(row), error });
    await startReady(tx, row);
    return row;
  };
  const fail = (tx: Tx, row: Generation, code: string, text: string) => end(tx, "fail", row, code, messageOf(text));

  const complete = async (tx: Tx, before: Generation, bytes: Uint8Array, cost_micros: number) => {
    const file = { content_type: mediaTypeOf(bytes), bytes: bytes.length, etag: etagOf(bytes) };
    const row = await move(tx, "complete", { ...before, ...file, cost_micros });
    // The generation was cancelled, so nothing links to the file.
    if (!row) return removeFileAfterCommit(tx, before.id);
    const { organization_id, model, step_at } = row;
    await generations(tx).count({ organization_id, model, date: step_at.slice(0, 10), generations: 1, cost_micros });
    await bus.announce(tx, organization_id, "generation.completed", eventOf(row));
    await startReady(tx, row);
  };

  /** The drivers' answers whose files wait for free disk space. */
  const waitForRoom = new Map<string, Answer>();

  /** Asks the driver, unless a file was received but not recorded: that file must not be paid for twice. */
  const askDriver = async (row: Generation): Promise<Answer> => {
    const { driver, ordersOnce } = driverOf(row.model);
    const waiting = waitForRoom.get(row.id);
    if (waiting) return waiting;
    const work = workOf(row, clock.now());
    if (row.handle) return checkAnswer(await driver.poll(work, row.handle));
    const bytes = await assets.find(row.id);
    if (bytes) return { state: "done", bytes, cost_usd: work.outcome?.cost_usd ?? null };
    if (ordersOnce) {
      if (row.handle === ordered) return interrupted;
      await store.transaction(row, (tx) => generations(tx).setHandle({ ...row, handle: ordered }));
    }
    return checkAnswer(await driver.submit(work));
  };

  /** How to cancel the driver of each generation that this process works on. */
  const working = new Map<string, () => Promise<void>>();
  feed.onWake("cancelled", (id) => {
    working
      .get(id)?.()
      .catch(warning(log, id, "a driver's cancel failed"));
  });

  /** Stores the file of an answer. If that fails, returns the outcome of the job. */
  const storeFile = async (row: Generation, answer: Answer & { state: "done" }): Promise<Outcome | undefined> => {
    try {
      await assets.store(row.id, answer.bytes);
      waitForRoom.delete(row.id);
      return undefined;
    } catch (error) {
      const obstacle = obstacleOfFile(error);
      if (!obstacle) throw error;
      const reason = describeObstacle(obstacle);
      if (!waitForRoom.has(row.id))
        log.error("the file of a generation could not be stored", { generation: row.id, reason });
      if (obstacle === "disk_full" || obstacle === "too_many_files") {
        waitForRoom.set(row.id, answer);
        return snooze(milliseconds("10s"));
      }
      const message = `the file could not be stored: ${reasonOfObstacle(obstacle)}`;
      return done((tx) => fail(tx, row, "generation_failed", message), row);
    }
  };

  return {
    ...{ statusOf, progressOf, publish, move, end, startReady, runStart, resume, removeFileAfterCommit },

    /** Ends the delay of a queued generation, which then starts as soon as a slot is free. */
    async skipDelay(tx: Tx, row: Generation) {
      await generations(tx).skipDelay({ ...row, now: clock.iso() });
      await startReady(tx, row);
    },

    /** The number of generations in each state that is not final: of one organization, or of all. */
    async unfinished(organization_id?: string): Promise<{ queued: number; in_progress: number }> {
      if (organization_id !== undefined) {
        const count = (status: string) => generations().countUnfinished({ organization_id, status });
        return { queued: await count("queued"), in_progress: await count("in_progress") };
      }
      const queued = await generations().countQueued({});
      const running = await generations().running({});
      return { queued, in_progress: running.length };
    },

    /** The job `generations.advance`. */
    async advance(generation_id: string): Promise<Outcome> {
      const row = await generations().byId({ id: generation_id });
      if (row?.status !== "in_progress") {
        waitForRoom.delete(generation_id);
        return discard("the generation is not in progress");
      }
      const { model, driver, ordersOnce } = driverOf(row.model);
      working.set(generation_id, () => driver.cancel(workOf(row, clock.now()), null));
      const onStop: Answer = { state: "running", again_ms: 1, handle: row.handle ?? (ordersOnce ? ordered : null) };
      const asked = withProgress(row, driver, askDriver(row)).finally(() => working.delete(generation_id));
      const answer = await asked.catch(async (error) => {
        // An interruption by a stop or a cancel is not a failure. After a stop, the next start continues the work.
        if (stopping) return onStop;
        if ((await generations().byId({ id: generation_id }))?.status !== "in_progress") return undefined;
        throw error;
      });
      if (!answer) return discard("the generation ended while the driver worked");
      if (answer.state === "failed") {
        // A crash between storing the file and the commit may have left a file.
        await assets.remove(generation_id);
        return done((tx) => fail(tx, row, answer.code, answer.message), row);
      }
      if (answer.state === "running") {
        const { again_ms, handle } = answer;
        const progress = answer.progress === undefined ? null : Math.round(answer.progress * 100);
        const store = async (tx: Tx) => {
          const isRunning = (await generations(tx).setHandle({ ...row, handle, progress })) > 0;
          if (!isRunning) await queue.add(tx, "generations.cancel", { generation_id, handle });
          else if (progress !== row.progress) publish(tx, { ...row, progress }, clock.iso());
        };
        return snooze(again_ms, store, row);
      }
      const unstored = await storeFile(row, answer);
      if (unstored) return unstored;
      const cost = answer.cost_usd === null ? costOf(model.price, workOf(row, clock.now())) : microsOf(answer.cost_usd);
      return done((tx) => complete(tx, row, answer.bytes, cost), row);
    },

    /** Fails a generation whose job has no retries left: otherwise it would never end. */
    async giveUp(tx: Tx, generation_id: string, reason: string) {
      const row = await generations(tx).byId({ id: generation_id });
      if (row?.status !== "in_progress") return;
      await fail(tx, row, "generation_failed", reason);
      removeFileAfterCommit(tx, generation_id);
    },

    /** The job `generations.cancel`: cancels the driver's work, and removes a file that a crash left. */
    async cancel(generation_id: string, handle: string | null): Promise<Outcome> {
      const row = await generations().byId({ id: generation_id });
      if (!row) return done();
      if (row.status === "failed") await assets.remove(generation_id);
      await driverOf(row.model).driver.cancel(workOf(row, clock.now()), handle || null);
      // Wakes the process that started the program or request, because no other can cancel it.
      return done(async (tx) => feed.wake(tx, "cancelled", generation_id), row);
    },

    /** From now on, interrupted requests do not count as failures. */
    stop() {
      stopping = true;
    },
  };
}
