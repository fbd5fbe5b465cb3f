import * as v from "valibot";
import { type GenerationWork, type Progress, progress } from "../../drivers/generation/contract.ts";
import { withoutEscapeSequences } from "../../kernel/text/escape-sequences.ts";
import type { Row } from "../../store/tables.ts";
import { storedOutcome } from "../scenarios/stored-outcome.ts";
import { parseInputs } from "./inputs.ts";

type Generation = Row<"generations">;
export type Answer = v.InferOutput<typeof progress>;

export function workOf(
  row: Pick<Generation, "id" | "kind" | "model" | "input" | "script" | "step_at">,
  now: number,
): GenerationWork {
  const input: Record<string, unknown> = JSON.parse(row.input);
  return {
    ...parseInputs(row.kind, input),
    inputs: input,
    generation_id: row.id,
    model: row.model,
    outcome: storedOutcome(row),
    elapsed_ms: Math.max(0, now - Date.parse(row.step_at)),
  };
}

const maxMessageLength = 1000;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are removed
const controlCharacters = /[\u0000-\u001f\u007f-\u009f]+/g;
/** A driver's message, shortened and stripped of control characters, which must not reach a terminal. */
export const messageOf = (text: string) =>
  withoutEscapeSequences(text).replace(controlCharacters, " ").slice(0, maxMessageLength).toWellFormed();

/** Checks a driver's answer: drivers are foreign code. */
export function checkAnswer(answer: Progress): Answer {
  const { success, output, issues } = v.safeParse(progress, answer);
  if (success) return output;
  return { state: "failed", code: "driver_failed", message: `the driver's answer is wrong: ${issues[0].message}` };
}

/** Stored as the handle while an order that costs money is in flight. */
export const ordered = "";
/** The answer after a crash, or after a stop that did not wait for the backend. */
export const interrupted: Answer = {
  state: "failed",
  code: "backend_interrupted",
  message:
    "the service ended before the backend answered the order; it is not sent again, because it may have been billed: create the generation again, or set idempotent for a backend that honours Idempotency-Key",
};
