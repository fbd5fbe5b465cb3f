import { createHash } from "node:crypto";
import { etagOf, isAssetName } from "../asset-files.ts";
import { DatabaseError } from "../database-error.ts";
import { type Filled, type Side, type Source, settingOf, type Target, vaultOf } from "./copy-sides.ts";
import { type Ask, lineOf, pagesOf, tablesInOrder } from "./copy-tables.ts";
import type { Progress as CommandProgress } from "./progress.ts";

export interface Progress extends Required<CommandProgress> {
  /** `remove` clears an unfinished earlier copy from the target. */
  readonly step: "remove" | "copy" | "compare";
}

interface Sum {
  readonly rows: number;
  readonly sha256: string;
}

export interface CopyReport {
  /** Whether the target was already a complete copy. */
  readonly was_complete: boolean;
  readonly rows: number;
  readonly files: number;
  /** For each table, its row count and checksum, equal on both sides. */
  readonly tables: readonly ({ readonly table: string } & Sum)[];
  /** Ids of generations whose file is missing or damaged in the source. */
  readonly lost_files: readonly string[];
}

type Report = (progress: Progress) => void;

/** Checksums by the name of the table or file. */
interface Sums {
  readonly tables: ReadonlyMap<string, Sum>;
  readonly files: ReadonlyMap<string, string>;
}

const elsewhere = "name an empty database, or a file that does not exist";

/** Copies rows and files in one pass, then compares checksums. A target that holds a service is only compared. */
export async function copyService(source: Source, target: Target, report: Report): Promise<CopyReport> {
  const vault = await vaultOf(source);
  const { used, shown } = target;
  if (!used) {
    if (target.isUnfinished) report({ step: "remove", what: "unfinished copy", done: 1, total: 1 });
    return target.fill(async (into) => {
      const sums = await sumsOf(source, "copy", report, into);
      const difference = differenceOf(sums, await sumsOf(into, "compare", report));
      if (difference !== undefined) throw new Error(difference);
      return reportOf(source, sums, false);
    });
  }
  if ((await settingOf(used.ask, "vault")) !== vault)
    throw new DatabaseError(shown, `it holds another service; ${elsewhere}`);
  const sums = await sumsOf(source, "compare", report);
  const difference = differenceOf(sums, await sumsOf(used, "compare", report));
  if (difference === undefined) return reportOf(source, sums, true);
  const held = "it holds a service already: another service, or this one with newer work";
  throw new DatabaseError(shown, `${held} (${difference}); ${elsewhere}`);
}

/** Reads everything and returns the checksums. If `into` is given, also writes everything to it. */
async function sumsOf({ ask, files }: Side, step: Progress["step"], report: Report, into?: Filled): Promise<Sums> {
  const [tables, etags] = [new Map<string, Sum>(), new Map<string, string>()];
  for (const table of tablesInOrder()) {
    const [counted] = await ask(`select count(*) as rows from "${table.name}"`);
    const hash = createHash("sha256");
    let rows = 0;
    for await (const page of pagesOf(ask, table)) {
      await into?.insert(table, page);
      hash.update(page.map((row) => lineOf(table, row)).join(""));
      rows += page.length;
      report({ step, what: table.name, done: rows, total: Number(counted?.["rows"]) });
    }
    tables.set(table.name, { rows, sha256: hash.digest("hex") });
  }
  const names = (await files.names()).filter(isAssetName).sort();
  for (const name of names) {
    const bytes = await files.find(name);
    if (!bytes) continue;
    await into?.files.store(name, bytes);
    etags.set(name, etagOf(bytes));
    report({ step, what: "files", done: etags.size, total: names.length });
  }
  return { tables, files: etags };
}

/** Describes the first difference in checksums. Ignores files that only the target has. */
function differenceOf(source: Sums, target: Sums): string | undefined {
  for (const [name, { rows, sha256 }] of source.tables) {
    const copied = target.tables.get(name);
    if (copied?.sha256 !== sha256)
      return `the checksums of the table ${name} differ: ${rows} rows in the source, ${copied?.rows} in the target`;
  }
  const file = [...source.files.keys()].find((name) => source.files.get(name) !== target.files.get(name));
  return file && `the checksums of the file ${file} differ`;
}

async function reportOf({ ask }: Source, { tables, files }: Sums, was_complete: boolean): Promise<CopyReport> {
  return {
    was_complete,
    rows: [...tables.values()].reduce((all, { rows }) => all + rows, 0),
    files: files.size,
    tables: [...tables].map(([table, sum]) => ({ table, ...sum })),
    lost_files: await lostFiles(ask, async (id) => files.get(id)),
  };
}

/** Ids of generations whose file is missing or changed. `etagOfFile` returns undefined for a missing file. */
export async function lostFiles(
  ask: Ask,
  etagOfFile: (id: string) => Promise<string | undefined>,
): Promise<readonly string[]> {
  const lost: string[] = [];
  for (const { id, etag } of await ask("select id, etag from generations where etag is not null order by id"))
    if (etag !== (await etagOfFile(String(id)))) lost.push(String(id));
  return lost;
}
