import { existsSync } from "node:fs";
import { tmpdir } from "node:os";

/** A folder for files that need not survive a power failure: in memory, if the machine has such a folder. */
export const fastFolder = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
