import { machine } from "../../kernel/state-machine.ts";

/** `queued → in_progress → completed | failed`. A cancelled generation ends as `failed`. */
export const lifecycle = machine({
  states: ["queued", "in_progress", "completed", "failed"],
  initial: "queued",
  terminal: ["completed", "failed"],
  moves: {
    begin: { from: ["queued"], to: "in_progress" },
    complete: { from: ["in_progress"], to: "completed" },
    fail: { from: ["in_progress"], to: "failed" },
    cancel: { from: ["queued", "in_progress"], to: "failed" },
  },
});

export type MoveName = keyof typeof lifecycle.moves;
