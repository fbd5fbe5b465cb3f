/** What the bench asks of a server's process: how much it worked, and to end. */
export function serve(url: string, close: () => unknown): void {
  process.on("message", async (asked: "cpu" | "end") => {
    if (asked === "cpu") return process.send?.(process.cpuUsage());
    await close();
    process.disconnect();
  });
  process.send?.({ url });
}
