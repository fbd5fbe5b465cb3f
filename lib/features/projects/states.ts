import { machine } from "../../kernel/state-machine.ts";

export const lifecycle = machine({
  states: ["active", "archived"],
  initial: "active",
  terminal: [],
  moves: {
    archive: { from: ["active", "archived"], to: "archived" },
    unarchive: { from: ["active", "archived"], to: "active" },
  },
});
