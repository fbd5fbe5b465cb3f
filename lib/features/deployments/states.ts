import { machine } from "../../kernel/state-machine.ts";

/** The states of a deployment and its moves. No other move is possible. */
export const lifecycle = machine({
  states: ["queued", "building", "deploying", "active", "failed", "cancelled", "rolled_back"],
  initial: "queued",
  terminal: ["active", "failed", "cancelled", "rolled_back"],
  moves: {
    build: { from: ["queued"], to: "building", event: "deployment.started" },
    rollout: { from: ["building"], to: "deploying" },
    succeed: { from: ["deploying"], to: "active", event: "deployment.succeeded" },
    fail: { from: ["building", "deploying"], to: "failed", event: "deployment.failed" },
    restore: { from: ["deploying"], to: "rolled_back", event: "deployment.rolled_back" },
    cancel: { from: ["queued", "building"], to: "cancelled" },
  },
});

export type MoveName = keyof typeof lifecycle.moves;
