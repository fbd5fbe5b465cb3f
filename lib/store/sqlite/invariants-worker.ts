/** A thread that checks the rules of a database file, on its own connection. A large database is copied first. */
import { parentPort, workerData } from "node:worker_threads";
import { violationsOf } from "../invariants.ts";
import { openRaw } from "./connection.ts";
import { withCopy } from "./online-copy.ts";

const found = await withCopy(
  String(workerData),
  (path) => {
    const database = openRaw(path);
    database.pragma("query_only = ON");
    try {
      return violationsOf(database);
    } finally {
      database.close();
    }
  },
  true,
);
parentPort?.postMessage(found);
