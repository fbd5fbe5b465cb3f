import type { Report } from "../lib/store/transfer/progress.ts";

type Terminal = Pick<NodeJS.WriteStream, "isTTY" | "write">;

/** Shows how far work is: on a terminal, one line that is rewritten, and removed at the end. Elsewhere it is silent. */
export async function withProgress<T>(
  work: (report: Report) => Promise<T>,
  stream: Terminal = process.stderr,
): Promise<T> {
  let shown = "";
  const show = (line: string) => {
    if (!stream.isTTY || line === shown) return;
    stream.write(`\r\u001b[K${line}`);
    shown = line;
  };
  try {
    return await work(({ what, done = 0, total }) =>
      // A percentage, so that the line changes at most a hundred times.
      show(total ? `${what}: ${Math.floor((100 * done) / total)}% of ${total.toLocaleString("en")}` : `${what} …`),
    );
  } finally {
    show("");
  }
}
