import { AbortController } from "../../kernel/node/web.ts";
import { milliseconds } from "../../kernel/text/duration.ts";
import { createPainter, type Painted, type Painter } from "../painter/painter.ts";
import type { GenerationDriver, GenerationWork, Progress } from "./contract.ts";

/** The outcome of a simulated generation; empty for success in the default time. */
export interface SimulatedGeneration {
  readonly result?: "succeed" | "fail" | "rolled_back" | undefined;
  readonly message?: string | undefined;
  readonly durations?: { readonly queued?: string | undefined; readonly in_progress?: string | undefined } | undefined;
  /** Replaces the cost from the model's price. */
  readonly cost_usd?: number | undefined;
}

/** The default durations (schema/testing.md#scenarios). */
const defaultDurations = { queued: "1s", in_progress: "2s" } as const;
/** All generations share this handle. It only means that painting has begun. */
const handle = "begun";

/** The poll interval of a generation that waits for a thread. */
const turn_ms = 100;

interface Painting {
  readonly file: Promise<Painted>;
  readonly controller: AbortController;
  /** Whether it has left the painter's queue. */
  readonly hasBegun: () => boolean;
}

/**
 * Generations that are painted offline. Painting starts with the generation, so several can be painted in parallel. The
 * file is awaited at the end of the generation's duration. The generation's scenario decides the outcome, otherwise
 * `script`.
 *
 * The job of a painting that waits for a thread ends, and polls again soon: a job that runs while its process is killed
 * counts a crash. With `awaitsTurn`, for a manual clock, the job waits: no time would pass until the next poll.
 */
export function simulatedGenerations(
  script: (work: GenerationWork) => SimulatedGeneration | undefined = () => undefined,
  painter: Painter = createPainter(),
  awaitsTurn: () => boolean = () => true,
): GenerationDriver {
  const paintings = new Map<string, Painting>();

  const startPainting = (work: GenerationWork): Painting => {
    const controller = new AbortController();
    let hasBegun = false;
    const begun = () => {
      hasBegun = true;
    };
    const file = painter.paint(work, controller.signal, begun);
    // finish() reports a failure. Until then the rejection must not count as unhandled.
    file.catch(begun);
    const painting: Painting = { file, controller, hasBegun: () => hasBegun };
    paintings.set(work.generation_id, painting);
    return painting;
  };

  const outcomeOf = (work: GenerationWork): SimulatedGeneration => work.outcome ?? script(work) ?? {};
  /** With other paces, the service calls only when the generation should advance. */
  const isTimed = (work: GenerationWork) => (work.outcome?.pace ?? "timed") === "timed";
  const durationOf = (work: GenerationWork, phase: keyof typeof defaultDurations) => {
    const { durations } = outcomeOf(work);
    return isTimed(work) ? milliseconds(durations?.[phase] ?? defaultDurations[phase]) : 0;
  };

  const finish = async (work: GenerationWork): Promise<Progress> => {
    const { result, message = "the model failed", cost_usd = null } = outcomeOf(work);
    if (result === "fail") return { state: "failed", message };
    const { file, hasBegun } = paintings.get(work.generation_id) ?? startPainting(work);
    if (!hasBegun() && isTimed(work) && !awaitsTurn()) return { state: "running", again_ms: turn_ms, handle };
    try {
      return { state: "done", bytes: (await file).bytes, cost_usd };
    } finally {
      paintings.delete(work.generation_id);
    }
  };

  return {
    takesScenarios: true,
    delay: (work) => durationOf(work, "queued"),
    progressOf(work) {
      const duration_ms = durationOf(work, "in_progress");
      return duration_ms === 0 ? undefined : Math.min(1, work.elapsed_ms / duration_ms);
    },
    async submit(work) {
      const again_ms = durationOf(work, "in_progress");
      if (again_ms === 0) return finish(work);
      if (outcomeOf(work).result !== "fail") startPainting(work);
      return { state: "running", again_ms, handle };
    },
    poll: finish,
    async cancel({ generation_id }) {
      paintings.get(generation_id)?.controller.abort(new Error("the generation was cancelled"));
      paintings.delete(generation_id);
    },
    close: () => painter.close(),
  };
}
