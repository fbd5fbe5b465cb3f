import { machine } from "../kernel/state-machine.ts";

/** SPEC "User": active or suspended. The moves are additions: CONTRACT section 9. */
export const lifecycle = machine({
  states: ["active", "suspended"],
  initial: "active",
  terminal: [],
  moves: {
    suspend: { from: ["active", "suspended"], to: "suspended" },
    reactivate: { from: ["active", "suspended"], to: "active" },
  },
});
