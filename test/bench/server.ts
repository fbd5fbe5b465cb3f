/** Commands of the bench to a server's process: report the processor time, and stop. */
export function serve(url: string, close: () => unknown): void {
  process.on("message", async (asked: "cpu" | "end") => {
    if (asked === "cpu") return process.send?.(process.cpuUsage());
    await close();
    process.disconnect();
  });
  process.send?.({ url });
}
