import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gitMemorySettings } from "../runtime/limited-git.ts";

/**
 * The settings of git for all repositories. Hooks never run, and a push stores only refs and objects. Git checks them and
 * quarantines them until the push is complete. Commits without a branch stay, because a rollback may rebuild them.
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

const foldersIn = async (path: string): Promise<string[]> =>
  (await readdir(path, { withFileTypes: true })).flatMap((one) =>
    one.isDirectory() && !one.name.startsWith(".") ? [join(path, one.name)] : [],
  );

/**
 * Gives all repositories the settings of a new one. A restored repository may have others, which override those above
 * and could name programs to run.
 */
export async function settleRepositories(folder: string, template: string): Promise<void> {
  const wanted = await readFile(template);
  for (const organization of await foldersIn(folder))
    for (const owner of await foldersIn(organization))
      for (const repository of await foldersIn(owner)) {
        const path = join(repository, "config");
        const present = await readFile(path).catch(() => undefined);
        if (!present?.equals(wanted)) await writeFile(path, wanted);
      }
}
