import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createRandom } from "../../kernel/random.ts";
import { gitMemorySettings } from "../runtime/limited-git.ts";

/**
 * The settings of git for all repositories. A push stores only refs and objects, which git checks first. Commits
 * without a branch stay, because a rollback may build them again.
 */
export const gitSettings = (pushLimit_bytes: number) => `[safe]
	directory = *
[core]
	hooksPath = /dev/null
	fsync = committed,reference
[transfer]
	fsckObjects = true
[receive]
	fsckObjects = true
	maxInputSize = ${pushLimit_bytes}
	unpackLimit = 1
	autogc = false
	advertisePushOptions = true
	denyDeleteCurrent = refuse
[receive "fsck"]
	# Old histories have these, and code hosts take them.
	badTimezone = ignore
	missingSpaceBeforeDate = ignore
	zeroPaddedFilemode = ignore
[http]
	receivepack = true
	uploadpack = true
	getanyfile = false
[gc]
	auto = 0
[maintenance]
	auto = false
[pack]
	windowMemory = 64m
	threads = 1
${gitMemorySettings}`;

/** Files that point git to settings or objects elsewhere. */
const foreign = [".git", "commondir", "objects/info/alternates"];

/** Gives a repository the settings of a new one. A restored one may have others, which could name programs to run. */
export async function settleRepository(path: string, wanted: Buffer): Promise<void> {
  for (const name of foreign) await rm(join(path, name), { recursive: true, force: true });
  const present = await readFile(join(path, "config")).catch(() => undefined);
  if (present?.equals(wanted)) return;
  const half = join(path, `config.${createRandom().alphanumeric(16)}`);
  await writeFile(half, wanted);
  await rename(half, join(path, "config"));
}
