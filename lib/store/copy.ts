import { digestOf, type Files, type TargetFiles } from "./copy-files.ts";
import { copySetting } from "./copy-mark.ts";
import { type Source, settingOf, type Target, vaultOf } from "./copy-sides.ts";
import {
  checksumOf,
  differences,
  noRows,
  type Row,
  type Rows,
  ranges,
  type Table,
  tablesInOrder,
} from "./copy-tables.ts";
import { DatabaseError } from "./database-error.ts";

/** How far a copy is, for people. */
export interface Progress {
  readonly step: "remove" | "copy" | "compare";
  /** A table, or `files`. */
  readonly what: string;
  readonly done: number;
  readonly total: number;
}

export interface CopyReport {
  /** Whether the target was a whole copy before. */
  readonly was_complete: boolean;
  readonly rows: number;
  readonly files: number;
  /** Each table with its rows and their checksum, which is the same on both sides. */
  readonly tables: readonly { readonly table: string; readonly rows: number; readonly sha256: string }[];
  /** The generations whose file is missing or damaged in the source. */
  readonly lost_files: readonly string[];
}

type Report = (progress: Progress) => void;

const holdsAnother = "it holds another service; name an empty database, or a file that does not exist";

/**
 * Makes a target equal to a source, row by row and file by file, and compares both at the end. What an interrupted copy has
 * written already stays, where it is still right. A target that is used already is compared alone.
 */
export async function copyService(source: Source, target: Target, report: Report): Promise<CopyReport> {
  const was_complete = await target.isUsed();
  const own = await vaultOf(source);
  const begun = await settingOf(target.ask, copySetting);
  const vault = begun ?? (await settingOf(target.ask, "vault"));
  if (vault !== undefined && vault !== own) throw new DatabaseError(target.shown, holdsAnother);
  if (!was_complete) {
    const mark = "insert into settings (name, value) values ($1, $2)";
    if (begun === undefined) await target.ask(mark, [copySetting, own]);
    // A file without the mark was whole, and was not renamed yet.
    if (vault !== undefined) for (const table of tablesInOrder()) await removeSurplus(table, source, target, report);
    for (const table of tablesInOrder()) await insertMissing(table, source, target, report);
    await copyFiles(source.files, target.files, report);
  }
  try {
    const tables: { table: string; rows: number; sha256: string }[] = [];
    for (const table of tablesInOrder()) tables.push(await compare(table, source, target, report));
    const digests = await compareFiles(source.files, target.files, report);
    if (!was_complete) {
      await target.ask("delete from settings where name = $1", [copySetting]);
      await target.finish();
    }
    const rows = tables.reduce((sum, one) => sum + one.rows, 0);
    return {
      was_complete,
      rows,
      files: digests.size,
      tables,
      lost_files: await lostFiles(source.rows, async (name) => digests.get(name)),
    };
  } catch (error) {
    if (!was_complete || !(error instanceof Difference)) throw error;
    const reason = "it holds a service already: another service, or this one with newer work";
    throw new DatabaseError(target.shown, `${reason}; name an empty database, or a file that does not exist`, error);
  }
}

class Difference extends Error {
  constructor(where: string) {
    super(`the copy differs from its source in ${where}; run the same command again, and report this line`);
  }
}

/** Rows that an interrupted copy wrote, and that have changed since: a server may have run on the source. */
async function removeSurplus(table: Table, source: Source, target: Target, report: Report): Promise<void> {
  const total = await target.rows.count(table);
  let done = 0;
  if (total === 0) return;
  for await (const range of ranges(table, source.rows, target.rows)) {
    const { surplus } = differences(table, range);
    if (surplus.length > 0) await target.change(table, surplus, []);
    done += range.target.size;
    report({ step: "remove", what: table.name, done, total });
    if (done >= total) return;
  }
}

async function insertMissing(table: Table, source: Source, target: Pick<Target, "rows" | "change">, report: Report) {
  const total = await source.rows.count(table);
  let done = 0;
  for await (const range of ranges(table, source.rows, target.rows)) {
    const { missing } = differences(table, range);
    if (missing.length > 0) await target.change(table, [], missing);
    done += range.source.size;
    report({ step: "copy", what: table.name, done, total });
  }
}

async function compare(table: Table, source: Source, target: Target, report: Report) {
  const total = await source.rows.count(table);
  const checksum = checksumOf();
  let rows = 0;
  for await (const range of ranges(table, source.rows, target.rows)) {
    const { missing, surplus } = differences(table, range);
    if (missing.length + surplus.length > 0) throw new Difference(`the table ${table.name}`);
    checksum.add(table, range.source.values());
    rows += range.source.size;
    report({ step: "compare", what: table.name, done: rows, total });
  }
  return { table: table.name, rows, sha256: checksum.hex() };
}

async function copyFiles(source: Files, target: TargetFiles, report: Report): Promise<void> {
  const [names, present] = [await source.names(), new Set(await target.names())];
  for (const [i, name] of names.entries()) {
    const isThere = present.delete(name) && (await digestOf(source, name)) === (await digestOf(target, name));
    if (!isThere) await target.write(name, source.pieces(name));
    report({ step: "copy", what: "files", done: i + 1, total: names.length });
  }
  for (const name of present) await target.remove(name);
}

/** The checksum of each file, which is the same on both sides. */
async function compareFiles(source: Files, target: Files, report: Report): Promise<ReadonlyMap<string, string>> {
  const [names, copied] = [await source.names(), await target.names()];
  const digests = new Map<string, string>();
  if (names.join() !== copied.join()) throw new Difference("the names of its files");
  for (const name of names) {
    const digest = await digestOf(source, name);
    if (digest !== (await digestOf(target, name))) throw new Difference(`the file ${name}`);
    digests.set(name, digest);
    report({ step: "compare", what: "files", done: digests.size, total: names.length });
  }
  return digests;
}

/** The generations whose file is missing or differs from what was stored; `digest` is undefined for a missing one. */
export async function lostFiles(
  rows: Rows,
  digest: (name: string) => Promise<string | undefined>,
): Promise<readonly string[]> {
  const lost: string[] = [];
  const generations = tablesInOrder().filter(({ name }) => name === "generations");
  for (const table of generations)
    for await (const { source } of ranges(table, rows, noRows))
      for (const { id, etag } of source.values())
        if (etag !== null && etag !== `"${(await digest(String(id)))?.slice(0, 27)}"`) lost.push(String(id));
  return lost;
}

/** Hands out all rows, a page at a time, those first that others refer to. */
export async function eachPage(rows: Rows, take: (table: Table, rows: readonly Row[]) => void): Promise<void> {
  for (const table of tablesInOrder())
    for await (const { source } of ranges(table, rows, noRows)) take(table, [...source.values()]);
}
