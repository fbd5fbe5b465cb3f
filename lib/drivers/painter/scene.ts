import { createHash } from "node:crypto";
import { abstractOf } from "./abstract.ts";
import { type Canvas, hex, mix, times } from "./canvas.ts";
import { type Land, views } from "./landscapes.ts";
import { type Light, paintLayers } from "./layer.ts";
import { moodOf } from "./mood.ts";
import { between, type Chance, chance, Field, pick } from "./noise.ts";
import { type Wishes, wishesOf } from "./prompt-words.ts";
import { paintSky, skyOf } from "./sky.ts";
import { spaceOf } from "./space.ts";
import { paintWater } from "./water.ts";
import { type Fall, rainfall, snowfall } from "./weather.ts";

/** What is shown; everything is chosen before the first picture. Times are in seconds. */
export interface Scene {
  paint(canvas: Canvas, time: number): void;
  /** Adds what falls, to the finished frame. */
  readonly fall: Fall;
}

/** What is shown where no word says it: open land where light, weather or water is spoken of, and else anything. */
const open = ["mountains", "hills", "forest", "mountains"] as const;
const any = [...open, "hills", "desert", "city", "sea", "space", "abstract"] as const;

/** What a prompt shows. The same prompt and seed give the same scene at any size. */
export function sceneOf(prompt: string, seed: number): Scene {
  const random = chance(createHash("sha256").update(`${seed} ${prompt}`).digest().readUInt32LE());
  const wishes = wishesOf(prompt);
  const { tint, ...spoken } = wishes;
  const drawn = pick(random, Object.keys(spoken).length > 0 ? open : any);
  const { land = drawn, falling } = wishes;
  const fall = falling ? { snow: snowfall, rain: rainfall }[falling](seed) : () => {};
  if (land === "space") return { paint: spaceOf(random, wishes), fall };
  if (land === "abstract") return { paint: abstractOf(random, wishes), fall };
  return { paint: landscapeOf(land, random, wishes), fall };
}

function landscapeOf(land: Land, random: Chance, wishes: Wishes): Scene["paint"] {
  const water = wishes.water ?? (random() < 0.35 && land !== "desert");
  const mood = moodOf(wishes, random);
  const field = new Field(random, 512, 4, 6);
  const sky = skyOf(mood, random, field, wishes);
  const light: Light = { mood, field, sunX: sky.sunX, sparkles: sky.disc };
  const fog = (wishes.mist ?? 0) * 0.35 + between(random, 0.6, 0.85);
  const { horizon, behind, shore, front } = views[land](random, wishes, water, fog);
  const own = mix(times(mood.middle, 0.25), times(hex("#0e4a5a"), 0.2 + mood.reach), 0.5);
  const calm = land === "sea" ? between(random, 0, 0.4) : between(random, 0.3, 0.8);
  const pan = between(random, 0.012, 0.02) * (random() < 0.5 ? -1 : 1);
  return (canvas, time) => {
    const level = Math.round(canvas.height * horizon);
    const bank = shore === undefined ? canvas.height : Math.round(canvas.height * shore);
    paintSky(canvas, sky, Math.min(canvas.height, bank, level + Math.round(canvas.unit * 0.03)), time);
    paintLayers(canvas, behind, light, level, time * pan, bank);
    if (shore !== undefined) paintWater(canvas, bank, light, own, calm, time);
    paintLayers(canvas, front, light, level, time * pan, canvas.height);
  };
}
