import { milliseconds } from "../../kernel/duration.ts";
import { createPainter, type Painted, type Painter } from "../painter/painter.ts";
import type { GenerationDriver, GenerationWork, Progress } from "./contract.ts";

/** What happens to one simulated generation, where it is not a success in the usual time. */
export interface SimulatedGeneration {
  readonly result?: "succeed" | "fail" | "rolled_back" | undefined;
  readonly message?: string | undefined;
  readonly durations?: { readonly queued?: string | undefined; readonly in_progress?: string | undefined } | undefined;
  /** What it costs, instead of the model's price. */
  readonly cost_usd?: number | undefined;
}

/** CONTRACT section 8: "Simulated work takes by default 1 s queued, … 2 s in progress". */
const usual = { queued: "1s", in_progress: "2s" } as const;
/** Any handle says that it has begun; nothing needs to be remembered by it. */
const begun = "begun";

interface Painting {
  readonly file: Promise<Painted>;
  readonly abort: AbortController;
}

/**
 * Generations that are painted offline. A file is begun with its generation, so that several are painted side by side
 * while the service's clock goes on or stands, and it is awaited when the generation's time is over. How one
 * turns out is decided by the scenario that it took, or else by `script`.
 */
export function simulatedGenerations(
  script: (work: GenerationWork) => SimulatedGeneration | undefined = () => undefined,
  painter: Painter = createPainter(),
): GenerationDriver {
  const paintings = new Map<string, Painting>();

  const begin = (work: GenerationWork): Painting => {
    const abort = new AbortController();
    const painting = { file: painter.paint(work, abort.signal), abort };
    // Whether it failed is asked by poll(); until then nobody listens.
    painting.file.catch(() => {});
    paintings.set(work.generation_id, painting);
    return painting;
  };

  const outcomeOf = (work: GenerationWork): SimulatedGeneration => work.outcome ?? script(work) ?? {};
  const lasts = (work: GenerationWork, phase: keyof typeof usual) => {
    const { durations } = outcomeOf(work);
    // Under any other pace it is asked for when it is to go on, and not before.
    const isTimed = (work.outcome?.pace ?? "timed") === "timed";
    return isTimed ? milliseconds(durations?.[phase] ?? usual[phase]) : 0;
  };

  const end = async (work: GenerationWork): Promise<Progress> => {
    const { result, message = "the model failed", cost_usd = null } = outcomeOf(work);
    if (result === "fail") return { state: "failed", message };
    const { file } = paintings.get(work.generation_id) ?? begin(work);
    try {
      return { state: "done", bytes: (await file).bytes, cost_usd };
    } finally {
      paintings.delete(work.generation_id);
    }
  };

  return {
    takesScenarios: true,
    delay: (work) => lasts(work, "queued"),
    async submit(work) {
      const again_ms = lasts(work, "in_progress");
      if (again_ms === 0) return end(work);
      if (outcomeOf(work).result !== "fail") begin(work);
      return { state: "running", again_ms, handle: begun };
    },
    poll: end,
    async cancel({ generation_id }) {
      paintings.get(generation_id)?.abort.abort(new Error("the generation was cancelled"));
      paintings.delete(generation_id);
    },
    close: () => painter.close(),
  };
}
