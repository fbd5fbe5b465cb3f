import type { Options } from "../../lib/config/generated/options.ts";
import * as real from "../../lib/service.ts";
import { freeing, onPostgres } from "./on-postgres.ts";

// These replace `lib/service.ts`: services that would be in memory get a PostgreSQL database.

export async function beginService(options: Options, notes?: readonly string[]) {
  const moved = await onPostgres(options);
  const begun = await real.beginService(moved, notes);
  return { ...begun, service: freeing(begun.service, moved) };
}

export async function createService(options: Options = {}) {
  const moved = await onPostgres(options);
  return freeing(await real.createService(moved), moved);
}
