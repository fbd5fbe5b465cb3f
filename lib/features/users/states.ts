import { machine } from "../../kernel/state-machine.ts";

export const lifecycle = machine({
  states: ["active", "suspended"],
  initial: "active",
  terminal: [],
  moves: {
    suspend: { from: ["active", "suspended"], to: "suspended" },
    reactivate: { from: ["active", "suspended"], to: "active" },
  },
});
