import { machine } from "../kernel/state-machine.ts";

/** SPEC "States and transitions", project. Archiving is an addition: CONTRACT section 9. */
export const lifecycle = machine({
  states: ["active", "archived"],
  initial: "active",
  terminal: [],
  moves: {
    archive: { from: ["active", "archived"], to: "archived" },
    unarchive: { from: ["active", "archived"], to: "active" },
  },
});
