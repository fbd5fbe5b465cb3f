import { existsSync } from "node:fs";
import { tmpdir } from "node:os";

/** Where files are written that no power cut has to spare: in memory, where the machine has such a folder. */
export const fastFolder = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
