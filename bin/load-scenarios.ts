import { readJson, UsageError } from "./arguments.ts";
import { connectionArgs } from "./connection.ts";
import { controlOf } from "./control-client.ts";
import { command, word } from "./define-command.ts";
import { counted, isRecord, sayResult } from "./output.ts";

export const loadScenarios = command(
  "load",
  "svc-server record writes such a file.",
  {
    file: word("A JSON list of scenarios, each with match, outcome and times."),
    ...connectionArgs,
  },
  async (args) => {
    const send = controlOf(args);
    const path = String(args["file"]);
    const scenarios = readJson(path, "scenarios");
    if (!Array.isArray(scenarios))
      throw new UsageError(`the scenarios file ${path} must hold a JSON list of scenarios`);
    const wrong = scenarios.findIndex((one) => !isRecord(one));
    if (wrong >= 0) throw new UsageError(`the scenarios file ${path}: entry ${wrong + 1} must be an object`);
    const ids: string[] = [];
    for (const [i, scenario] of scenarios.entries()) {
      const { id } = await send<{ id: string }>("POST scenarios", scenario as object).catch((error: Error) => {
        throw new Error(`entry ${i + 1} of ${path} was refused, after ${counted(i, "scenarios")}: ${error.message}`);
      });
      ids.push(id);
    }
    sayResult(args, { data: ids.map((id) => ({ id })) }, `Added ${counted(ids.length, "scenarios")}.`);
  },
);
