import { statSync } from "node:fs";
import { join } from "node:path";
import { besideLimit } from "./beside-limit.ts";
import { type Figure, figure } from "./figures.ts";
import { type Bench, copyOf, createLoad, type Rows, startLimit, startPacked } from "./servers.ts";

/** The packed program on SQLite beside the limit. */
export async function overHttp(bench: Bench, rows: Rows): Promise<Figure[]> {
  const file = copyOf(bench, rows, "over-http");
  const all = [
    createLoad(bench),
    await startPacked(file),
    await startLimit(bench, join(bench.folder, "limit.db"), rows.file),
  ] as const;
  const [load, ...servers] = all;
  try {
    const figures = await besideLimit(bench, load, servers, rows, {
      get: { floor: 0.85, aim: 0.95 },
      list: { floor: 0.75, aim: 0.9 },
      post: { floor: 0.62, aim: 0.75 },
    });
    return [
      ...figures,
      figure("the write-ahead log after all these writes", "MB", [statSync(`${file}-wal`).size / 1e6]),
    ];
  } finally {
    await Promise.all(all.map((one) => one.end()));
  }
}
