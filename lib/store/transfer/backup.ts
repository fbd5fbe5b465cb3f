import {
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { isAssetName } from "../asset-files.ts";
import { copyData, dataFolderOf } from "../data-files.ts";
import { codeOf, DatabaseError } from "../database-error.ts";
import { keyFileOf } from "../encryption.ts";
import { copyRepositories, repositoryFolderOf } from "../repository-files.ts";
import { settleSwitch, switchFiles, switchOf } from "../sqlite/atomic-switch.ts";
import { refuseFolder } from "../sqlite/database-files.ts";
import { lockDatabase, lockFileOf } from "../sqlite/database-lock.ts";
import { copyOnline } from "../sqlite/online-copy.ts";
import { checkSums, checksumFileOf, checksumList } from "./checksums.ts";
import { assetFolderOf, checkDatabase, checkKey, damagedAssets } from "./integrity-check.ts";
import type { Report } from "./progress.ts";

/** Files of the generations in `lost` are missing or damaged in the source. Everything else was copied. */
export interface CopyResult {
  readonly lost: readonly string[];
  readonly warnings: readonly string[];
  /** A sentence for each part of the apps' data and for each branch that could not be copied. */
  readonly unread: readonly string[];
}

interface Settings {
  readonly force: boolean;
  readonly report?: Report;
}

/**
 * Copies a database with its key file, assets, git repositories and app data, and checks the copy. Safe while a server
 * is running: the copy is a consistent snapshot. Only their owner can read the copy and its key.
 */
export async function backup(from: string, to: string, { force, report = () => {} }: Settings): Promise<CopyResult> {
  const [source, target] = [resolve(from), resolve(to)];
  const warning = settleSwitch(source);
  if (!existsSync(source)) throw new DatabaseError(source, "it does not exist; name the database with --database");
  refuseFolder(source);
  if (!existsSync(keyFileOf(source)))
    throw new DatabaseError(keyFileOf(source), "the key file is missing, and a backup without it is useless");
  if (source === target) throw new DatabaseError(target, "it is the database itself; name another file");
  refuseTarget(target, force);
  checkKey(source);
  const { lost, unread } = await replaceLocked(target, async (staged) => {
    await copyOnline(source, staged, report);
    const assets = copyBeside(source, staged, report);
    const { repositories, unread } = await copyTenants(source, staged, report);
    const checked = check(staged, { named: source }, report);
    const folder = basename(assetFolderOf(target));
    const sums = checksumList(
      [
        [staged, basename(target)],
        [keyFileOf(staged), basename(keyFileOf(target))],
        ...assets.map((name) => [join(assetFolderOf(staged), name), `${folder}/${name}`] as const),
        ...repositories.map(
          (name) =>
            [join(repositoryFolderOf(staged), name), `${basename(repositoryFolderOf(target))}/${name}`] as const,
        ),
      ],
      report,
    );
    writeFileSync(checksumFileOf(staged), sums, { mode: 0o600 });
    return { ...checked, unread };
  });
  // No server runs on a copy, so it needs no lock file.
  rmSync(lockFileOf(target), { force: true });
  return { lost, warnings: warning === undefined ? [] : [warning], unread };
}

/** Replaces a database with a backup, including key, assets and git repositories. No server may run on it. */
export async function restore(from: string, to: string, { force, report = () => {} }: Settings): Promise<CopyResult> {
  const [source, target] = [resolve(from), resolve(to)];
  const warning = settleSwitch(source);
  for (const needed of [source, keyFileOf(source)]) {
    if (!existsSync(needed))
      throw new DatabaseError(needed, "it does not exist; a backup is a database and its .key file");
    refuseFolder(needed);
  }
  if (source === target) throw new DatabaseError(target, "it is the backup itself; name the database with --database");
  refuseTarget(target, force);
  const hasSums = existsSync(checksumFileOf(source));
  const { lost, unread } = await replaceLocked(target, async (staged) => {
    report({ what: "copying the database" });
    copyPrivately(source, staged);
    // A source without checksums may be a database that was not closed cleanly. Its WAL then has committed rows.
    if (!hasSums && existsSync(`${source}-wal`)) copyPrivately(`${source}-wal`, `${staged}-wal`);
    copyBeside(source, staged, report);
    const { unread } = await copyTenants(source, staged, report);
    const checked = check(staged, { named: source, remedy: "use another backup" }, report);
    if (hasSums) checkSums(source, staged, report);
    return { ...checked, unread };
  });
  const unchecked = `${source} has no checksums (${basename(checksumFileOf(source))}), so only its structure was checked`;
  return { lost, warnings: [...(warning === undefined ? [] : [warning]), ...(hasSums ? [] : [unchecked])], unread };
}

function refuseTarget(target: string, force: boolean): void {
  const folder = dirname(target);
  if (!existsSync(folder))
    throw new DatabaseError(target, `the folder ${folder} does not exist; create it, or name another folder`);
  refuseFolder(target);
  const existing = [target, keyFileOf(target), switchOf(target)].find(existsSync);
  if (existing && !force)
    throw new DatabaseError(existing, "it already exists; name another file, or replace it with --force");
}

async function replaceLocked<T>(target: string, stage: (staged: string) => Promise<T>): Promise<T> {
  const unlock = lockDatabase(target);
  try {
    return await switchFiles(target, stage);
  } catch (error) {
    throw DatabaseError.from(target, error);
  } finally {
    // Leave no lock file without a database.
    if (!existsSync(target)) rmSync(lockFileOf(target), { force: true });
    unlock();
  }
}

/** Opens the copy, before anything is replaced. Missing files of generations are reported and do not fail the check. */
function check(staged: string, words: Parameters<typeof checkDatabase>[1], report: Report): { lost: string[] } {
  report({ what: "checking the copy of the database" });
  checkDatabase(staged, words);
  checkKey(staged, words);
  return { lost: damagedAssets(staged, words, report) };
}

function copyPrivately(source: string, target: string): void {
  copyFileSync(source, target);
  chmodSync(target, 0o600);
}

/**
 * Copies the key and the assets, and returns the names of the assets. A server stores a file before its row, so the
 * files of all copied rows exist by now. A file that disappears during the copy is skipped: its row is being deleted.
 */
function copyBeside(source: string, target: string, report: Report): string[] {
  copyPrivately(keyFileOf(source), keyFileOf(target));
  const [from, to] = [assetFolderOf(source), assetFolderOf(target)];
  if (!existsSync(from) || !statSync(from).isDirectory()) return [];
  mkdirSync(to, { mode: 0o700 });
  return readdirSync(from)
    .filter((name) => isAssetName(name) && lstatSync(join(from, name), { throwIfNoEntry: false })?.isFile())
    .sort()
    .filter((name, done, { length: total }) => {
      report({ what: "copying files of generations", done, total });
      try {
        copyPrivately(join(from, name), join(to, name));
        return true;
      } catch (error) {
        if (codeOf(error) === "ENOENT") return false;
        throw error;
      }
    });
}

/** Copies the repositories and the data of apps. Returns the names of the repositories' files, and what is missing. */
async function copyTenants(
  source: string,
  target: string,
  report: Report,
): Promise<{ repositories: string[]; unread: string[] }> {
  const unread: string[] = [];
  report({ what: "copying repositories and the data of apps" });
  const lacks = (sentence: string) => void unread.push(sentence);
  const repositories = copyRepositories(repositoryFolderOf(source), repositoryFolderOf(target), lacks);
  unread.push(...(await copyData(dataFolderOf(source), dataFolderOf(target))));
  return { repositories, unread };
}
