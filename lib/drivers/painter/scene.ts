import { createHash } from "node:crypto";
import { abstractOf } from "./abstract-scene.ts";
import { type Canvas, hex, mix, times } from "./canvas.ts";
import { type Landscape, layouts } from "./landscape-layouts.ts";
import { paintLayers, type SceneLight } from "./layers.ts";
import { lightingOf } from "./lighting.ts";
import { NoiseField } from "./noise-field.ts";
import { hintsOf, isUnderstood, type PromptHints } from "./prompt-words.ts";
import { between, pick, type Random, seededRandom } from "./random.ts";
import { paintSky, skyOf } from "./sky.ts";
import { type Precipitation, rainfall, snowfall } from "./snow-and-rain.ts";
import { spaceOf } from "./space-scene.ts";
import { paintWater } from "./water.ts";

/** A scene, chosen before its first frame. Times are in seconds. */
export interface Scene {
  paint(canvas: Canvas, time: number): void;
  /** Draws snow or rain on a finished frame. */
  readonly drawPrecipitation: Precipitation;
}

/** Subjects for a prompt that only names light, weather or water. */
const openLand = ["mountains", "hills", "forest", "mountains"] as const;

/** The scene for a prompt and a seed, at any size. An unknown subject becomes an abstract picture in its colours. */
export function sceneOf(prompt: string, seed: number): Scene {
  const random = seededRandom(createHash("sha256").update(`${seed} ${prompt}`).digest().readUInt32LE());
  const hints = hintsOf(prompt);
  if (!isUnderstood(prompt)) return { paint: abstractOf(random, hints), drawPrecipitation: () => {} };
  const { land = pick(random, openLand), falling } = hints;
  const drawPrecipitation = falling ? { snow: snowfall, rain: rainfall }[falling](seed) : () => {};
  if (land === "space") return { paint: spaceOf(random, hints), drawPrecipitation };
  if (land === "abstract") return { paint: abstractOf(random, hints), drawPrecipitation };
  return { paint: landscapeOf(land, random, hints), drawPrecipitation };
}

function landscapeOf(land: Landscape, random: Random, hints: PromptHints): Scene["paint"] {
  const water = hints.water ?? (random() < 0.35 && (land === "mountains" || land === "city"));
  const lighting = lightingOf(hints, random);
  const field = new NoiseField(random, 512, 4, 6);
  const sky = skyOf(lighting, random, field, hints);
  const light: SceneLight = { lighting, field, sunX: sky.sunX, sparkles: sky.disc };
  const fog = (hints.mist ?? 0) * 0.35 + between(random, 0.6, 0.85);
  const { horizon, behind, shore, front } = layouts[land](random, hints, water, fog);
  const waterColour = mix(times(lighting.middle, 0.25), times(hex("#0e4a5a"), 0.2 + lighting.directLight), 0.5);
  const calm = land === "sea" ? between(random, 0, 0.4) : between(random, 0.3, 0.8);
  const pan = between(random, 0.012, 0.02) * (random() < 0.5 ? -1 : 1);
  return (canvas, time) => {
    const level = Math.round(canvas.height * horizon);
    const bank = shore === undefined ? canvas.height : Math.round(canvas.height * shore);
    paintSky(canvas, sky, Math.min(canvas.height, bank, level + Math.round(canvas.unit * 0.03)), time);
    paintLayers(canvas, behind, light, level, time * pan, bank);
    if (shore !== undefined) paintWater(canvas, bank, light, waterColour, calm, time);
    paintLayers(canvas, front, light, level, time * pan, canvas.height);
  };
}
