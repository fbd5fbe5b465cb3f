import * as v from "valibot";
import { Problem } from "../../kernel/errors.ts";
import { redaction } from "../../kernel/secrets/secret-values.ts";
import type { Row } from "../../store/tables.ts";
import type { environmentChanges } from "./schema.ts";

type Given = v.InferOutput<typeof environmentChanges>["protect"];

export interface Protection {
  readonly user: string;
  readonly hash: string;
}

const stored = v.object({ user: v.string(), hash: v.string() });

export const protectionOf = (protect: string | null | undefined): Protection | undefined =>
  protect ? v.parse(stored, JSON.parse(protect)) : undefined;

/** Protection and root as callers see them, without the password. Without a runtime, unset ones are left out. */
export function runView({ protect, root }: Row<"environments">, isRun: boolean) {
  const protection = protectionOf(protect);
  const shown = protection && { user: protection.user, password: redaction };
  return { ...((shown || isRun) && { protect: shown ?? null }), ...((root !== null || isRun) && { root }) };
}

/** The stored form of a protection. Hashing is slow, so it happens before the transaction. */
export async function hashed(
  given: Given,
  hash: (password: string) => Promise<string>,
): Promise<Protection | null | undefined> {
  if (!given) return given;
  const { user, password } = given;
  return { user, hash: password === redaction ? "" : await hash(password) };
}

/** The value of the column: the new protection if one was given, else the old one. */
export function protectColumn(
  given: Protection | null | undefined,
  before: Row<"environments"> | undefined,
): string | null {
  const present = before?.protect ?? null;
  if (given === undefined) return present;
  if (given === null || given.hash !== "") return given && JSON.stringify(given);
  if (protectionOf(present)?.user === given.user) return present;
  const message = "needs a password: none is stored for this user";
  throw new Problem("validation_failed", `protect ${message}`, { details: [{ path: "protect.password", message }] });
}
