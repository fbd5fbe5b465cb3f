/** A thread that checks the rules of the database in a file, on a connection of its own. */
import { parentPort, workerData } from "node:worker_threads";
import { violationsOf } from "./invariants.ts";
import { openRaw } from "./sqlite.ts";

const database = openRaw(String(workerData));
database.pragma("query_only = ON");
parentPort?.postMessage(violationsOf(database));
database.close();
