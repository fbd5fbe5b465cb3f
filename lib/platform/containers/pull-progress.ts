import * as v from "valibot";
import type { LogLine } from "../../drivers/deployment/contract.ts";
import { monotonicNow } from "../../kernel/node/system.ts";
import { byteSizeText } from "../../kernel/text/byte-size.ts";
import { EngineError } from "./engine-api.ts";

const count = v.optional(v.number(), 0);
const line = v.object({
  error: v.optional(v.string()),
  status: v.optional(v.string(), ""),
  id: v.optional(v.string(), ""),
  progressDetail: v.optional(v.nullable(v.object({ current: count, total: count })), { current: 0, total: 0 }),
});

const pause_ms = 2_000;

/** Turns the progress of a pull into a few log lines. Throws if the engine reports an error or the image is too large. */
export function createPullProgress(log: (line: LogLine) => void, max_bytes: number) {
  const layers = new Map<string, { got: number; total: number; isDone: boolean }>();
  let next_at = monotonicNow() + pause_ms;
  const sum = (of: (layer: { got: number; total: number }) => number) =>
    [...layers.values()].reduce((all, layer) => all + of(layer), 0);
  return (given: unknown): void => {
    const parsed = v.safeParse(line, given);
    if (!parsed.success) return;
    const { error, status, id, progressDetail } = parsed.output;
    if (error !== undefined) throw new EngineError(error);
    const isLayer = /^(Downloading|Download complete|Extracting|Pull complete|Already exists)/.test(status);
    if (!isLayer) return;
    const layer = layers.get(id) ?? { got: 0, total: 0, isDone: false };
    layers.set(id, layer);
    if (status === "Downloading") {
      layer.got = progressDetail?.current ?? 0;
      layer.total = Math.max(layer.total, progressDetail?.total ?? 0);
    } else if (/complete|exists/.test(status)) layer.got = layer.total;
    layer.isDone ||= /^(Pull complete|Already exists)/.test(status);
    const total = sum((one) => one.total);
    if (total > max_bytes)
      throw new EngineError(`the image is larger than deployments.buildDisk (${byteSizeText(max_bytes)})`);
    if (monotonicNow() < next_at) return;
    next_at = monotonicNow() + pause_ms;
    const done = [...layers.values()].filter(({ isDone }) => isDone).length;
    const message = `Pulled ${byteSizeText(sum((one) => one.got))} of ${byteSizeText(total)}, ${done} of ${layers.size} layers`;
    log({ level: "info", message });
  };
}
