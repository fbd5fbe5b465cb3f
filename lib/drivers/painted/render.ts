import { createHash } from "node:crypto";
import { Canvas, develop, hex, mix } from "./canvas.ts";
import { line, paintRange, type Range } from "./ground.ts";
import { moodOf } from "./mood.ts";
import { chance, Field } from "./noise.ts";
import type { Painted, PaintOrder } from "./painter.ts";
import { png } from "./png.ts";
import { paintSky, skyOf } from "./sky.ts";
import { wishesOf } from "./words.ts";

/** Paints an order and writes it in its format. */
export async function render(order: PaintOrder): Promise<Painted> {
  const { prompt, seed, width, height } = order;
  const random = chance(createHash("sha256").update(`${seed} ${prompt}`).digest().readUInt32LE());
  const wishes = wishesOf(prompt);
  const mood = moodOf(wishes, random);
  const sky = skyOf(mood, random, wishes.clouds ?? random() * 0.6, 900);
  const field = new Field(random, 512, 4, 6);
  const canvas = new Canvas(width, height);
  const horizon = Math.round(height * 0.68);
  paintSky(canvas, sky, horizon, 0);
  for (let i = 0; i < 5; i++) {
    const near = i / 4;
    const edge = line(random, 1 + near, i < 3 ? 0.9 : 0.3);
    const range: Range = {
      kind: i < 3 ? "mountains" : "hills",
      near,
      snow: false,
      colour: mix(hex("#4a5868"), hex("#31502a"), near),
      haze: mood.horizon,
      height: (x) => edge(x) * 0.3 - near * 0.3 + 0.02,
    };
    paintRange(canvas, range, mood, field, horizon, 0, sky.sunX);
  }
  return { bytes: png(develop(canvas), width, height), content_type: "image/png" };
}
