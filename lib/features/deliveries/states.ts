import { machine } from "../../kernel/state-machine.ts";

/** An abandoned delivery turns its endpoint off; PATCH turns it on again (schema/webhooks.md#retries). */
export const endpointLifecycle = machine({
  states: ["active", "inactive"],
  initial: "active",
  terminal: [],
  moves: {
    activate: { from: ["active", "inactive"], to: "active" },
    deactivate: { from: ["active", "inactive"], to: "inactive" },
  },
});

/** The states of a delivery. Recovering a delivery restarts its retry schedule. */
export const lifecycle = machine({
  states: ["pending", "succeeded", "abandoned", "skipped"],
  initial: "pending",
  terminal: [],
  moves: {
    succeed: { from: ["pending", "abandoned", "skipped"], to: "succeeded" },
    abandon: { from: ["pending"], to: "abandoned" },
    skip: { from: ["pending"], to: "skipped" },
    recover: { from: ["pending", "abandoned", "skipped"], to: "pending" },
  },
});
