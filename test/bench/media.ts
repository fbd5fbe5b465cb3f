import { render } from "../../lib/drivers/painter/render.ts";
import { type Figure, figure } from "./figures.ts";

/** The files of built-in models in their default sizes, made by a warm thread of the painter; in processor time. */
const picture = {
  kind: "image",
  prompt: "a cat on a sofa",
  width: 1024,
  height: 1024,
  seed: 0,
  duration_ms: 0,
} as const;
const film = { ...picture, kind: "video", format: "mp4", width: 854, height: 480, duration_ms: 2000 } as const;
const orders = [...(["png", "jpeg", "webp"] as const).map((format) => ({ ...picture, format })), film];

const figures: Figure[] = [];
for (const media of ["fast", "painted"] as const)
  for (const order of orders) {
    const costs: number[] = [];
    for (let i = 0; i < 7; i++) {
      const before = process.cpuUsage();
      await render({ ...order, media });
      const { user, system } = process.cpuUsage(before);
      costs.push((user + system) / 1000);
    }
    const goal = order.kind === "image" ? { floor: 40, aim: 20 } : { floor: 400, aim: 100 };
    const name = `${order.format} of ${order.width} × ${order.height}, ${media}`;
    // The first two load and compile the encoder.
    figures.push(figure(name, "ms", costs.slice(2), media === "fast" ? goal : undefined));
  }
process.stdout.write(JSON.stringify(figures));
