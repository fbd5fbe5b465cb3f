import * as v from "valibot";
import { explain } from "./kernel/api.ts";
import { optionsSchema } from "./settings.ts";
import type { Told } from "./settings-words.ts";

export type Options = v.InferInput<typeof optionsSchema>;
export type Settings = v.InferOutput<typeof optionsSchema>;

export class BadOptions extends Error {
  override readonly name = "BadOptions";
}

/** Reads the options, or says in one sentence which one is wrong and what would be right. */
export function parseOptions(given: unknown): Settings {
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw new BadOptions("the options must be an object");
  const result = v.safeParse(optionsSchema, given);
  if (!result.success) {
    const [first] = result.issues.map(explain);
    throw new BadOptions(`option ${first?.path} ${first?.message}`);
  }
  const { mode, clock, key, database, random } = result.output;
  if (mode === "start" && clock !== "real") throw new BadOptions("option clock must be real in the mode start");
  if (mode === "start" && key !== undefined)
    throw new BadOptions("option key is for the mode dev; make a key with: svc-server keys create");
  if (mode === "start" && random !== undefined)
    throw new BadOptions("option random is for the mode dev; a seeded key could be guessed");
  if (mode === "start" && result.output.transport !== undefined) {
    throw new BadOptions("option transport is for the mode dev; in start everything goes over the network");
  }
  if (/^postgres(ql)?:/.test(database))
    throw new BadOptions("option database must be :memory: or a path; this version has no PostgreSQL store yet");
  return result.output;
}

/** One option as a flag of the commands. */
export interface Flag {
  readonly key: string;
  readonly flag: string;
  readonly help: string;
  /** What stands for its value; undefined for a switch. */
  readonly value: string | undefined;
}

/** The options that are flags too, in the order of the table. */
export const flags: readonly Flag[] = Object.entries(optionsSchema.entries).flatMap(([key, schema]) => {
  const { help, flag, value } = v.getMetadata(schema.wrapped as v.GenericSchema) as Partial<Told>;
  return flag === undefined ? [] : [{ key, flag, help: help ?? "", value }];
});
