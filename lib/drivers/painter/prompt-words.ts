export type Shape = "circle" | "triangle" | "square";

/** The features that the known words in a prompt select. */
export interface PromptHints {
  readonly land?: "mountains" | "hills" | "forest" | "desert" | "city" | "sea" | "space" | "abstract";
  readonly time?: "dawn" | "day" | "golden" | "sunset" | "dusk" | "night";
  readonly water?: boolean;
  readonly clouds?: number;
  readonly mist?: number;
  readonly snow?: boolean;
  readonly falling?: "snow" | "rain";
  readonly aurora?: boolean;
  readonly stars?: boolean;
  readonly moon?: boolean;
  readonly storm?: boolean;
  readonly neon?: boolean;
  readonly rings?: boolean;
  /** The colour of leaves. */
  readonly leaves?: string;
  /** The colours in the prompt, in its order. They tint all other colours. */
  readonly colours?: readonly [string, ...string[]];
  /** The shapes of an abstract picture; they replace folds. */
  readonly shapes?: readonly [Shape, ...Shape[]];
}

const vocabulary: readonly (readonly [words: string, hints: PromptHints])[] = [
  [
    "mountain mountains mountainous alps alpine peak peaks summit cliff cliffs canyon volcano himalaya rocky",
    { land: "mountains" },
  ],
  [
    "hill hills meadow meadows field fields valley countryside pasture farm prairie grass garden village spring",
    { land: "hills" },
  ],
  ["forest forests tree trees wood woods woodland pine pines jungle taiga fir firs", { land: "forest" }],
  ["autumn autumnal", { land: "forest", time: "golden", leaves: "#e08428" }],
  ["desert dune dunes sahara sand sandy mars martian oasis", { land: "desert" }],
  [
    "city cities town street streets skyline downtown metropolis urban building buildings tokyo york london paris berlin shanghai skyscraper skyscrapers tower towers",
    { land: "city" },
  ],
  ["cyberpunk neon", { land: "city", time: "night", neon: true, colours: ["#c822b4"] }],
  ["sea ocean seascape wave waves coast island islands horizon sailing boat ship", { land: "sea", water: true }],
  ["beach tropical lagoon", { land: "sea", water: true, colours: ["#1ec8c8"] }],
  ["lake lakes river fjord pond water reflection reflections harbour harbor bay waterfront", { water: true }],
  ["rings ringed", { rings: true }],
  ["saturn", { land: "space", rings: true }],
  [
    "space galaxy galaxies nebula planet planets cosmos cosmic universe astronaut orbit asteroid rocket spaceship",
    { land: "space" },
  ],
  [
    "abstract pattern patterns gradient gradients fluid marble swirl swirls texture wallpaper background minimal psychedelic liquid",
    { land: "abstract" },
  ],
  ["geometric geometry shapes bauhaus", { land: "abstract", shapes: ["circle", "triangle", "square"] }],
  ["circle circles dots", { land: "abstract", shapes: ["circle"] }],
  ["triangle triangles", { land: "abstract", shapes: ["triangle"] }],
  ["square squares rectangle rectangles", { land: "abstract", shapes: ["square"] }],
  ["sky landscape landscapes scenery", {}],
  ["dawn sunrise morning daybreak", { time: "dawn" }],
  ["day noon midday daylight sunny bright summer", { time: "day", clouds: 0.4 }],
  ["golden afternoon warm", { time: "golden" }],
  ["sunset sundown evening", { time: "sunset" }],
  ["dusk twilight", { time: "dusk" }],
  ["night midnight nocturnal dark", { time: "night" }],
  ["star stars starry milky constellation", { time: "night", stars: true, clouds: 0 }],
  ["moon moonlight moonlit moonrise", { time: "night", moon: true }],
  ["aurora borealis northern polar arctic", { time: "night", aurora: true, clouds: 0 }],
  ["cloud clouds cloudy", { clouds: 0.62 }],
  ["overcast", { clouds: 0.85, storm: true }],
  ["clear cloudless", { clouds: 0 }],
  ["storm stormy thunder thunderstorm dramatic tempest", { clouds: 0.85, storm: true }],
  ["rain rainy raining drizzle", { clouds: 0.8, storm: true, falling: "rain" }],
  ["mist misty fog foggy haze hazy", { mist: 1, clouds: 0.3 }],
  ["snow snowy winter ice icy frozen frost glacier", { snow: true }],
  ["snowfall snowing blizzard snowstorm christmas", { snow: true, falling: "snow", clouds: 0.7 }],
  ["red crimson scarlet", { colours: ["#d22828"] }],
  ["orange amber", { colours: ["#f07818"] }],
  ["yellow gold", { colours: ["#f0c020"] }],
  ["green emerald lime", { colours: ["#28aa50"] }],
  ["teal turquoise cyan", { colours: ["#14b4b4"] }],
  ["blue azure cobalt", { colours: ["#2860dc"] }],
  ["purple violet lavender lilac", { colours: ["#8c46d2"] }],
  ["pink rose magenta", { colours: ["#f05a9b"] }],
  ["brown beige", { colours: ["#8a5a30"] }],
  ["grey gray silver", { colours: ["#8a929c"], clouds: 0.85, storm: true }],
  ["black", { colours: ["#15161a"] }],
  ["white", { colours: ["#f2f2ee"] }],
];

const hintsOfWord = new Map(
  vocabulary.flatMap(([words, hints]) => words.split(" ").map((word) => [word, hints] as const)),
);

const wordSet = (words: string) => new Set(words.split(" "));
/** Words that select a setting, but name a subject that is not painted: a lake alone is not a picture of a boat. */
const onlySettings = wordSet(
  "boat ship sailing star astronaut rocket spaceship asteroid village farm garden ring rings ringed tokyo york london paris berlin shanghai tower towers building buildings",
);
/** Words that end a phrase. */
const links = wordSet(
  "on in at of with without over under by near through across above below behind before beside between into from to during against along around and or while as is are was were that which where who",
);
/** Words that do not describe the subject. */
const fillers = wordSet(
  "a an the this some very my one oil watercolor watercolour photo photograph picture image painting drawing illustration render rendering view scene shot panorama video film clip footage timelapse aerial wide cinematic beautiful stunning majestic epic realistic photorealistic detailed lights way hour hours time",
);
const falls = wordSet("fall falls falling flakes flurries drifting swirling");

const wordsOf = (text: string) =>
  text
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);
const isColour = (word: string) => hintsOfWord.get(word)?.colours !== undefined && !hintsOfWord.get(word)?.land;

/** The hints from all whole words of a prompt. A later word wins, except that the first subject stays. */
export function hintsOf(prompt: string): PromptHints {
  const words = wordsOf(prompt);
  const allHints = words.flatMap((word) => hintsOfWord.get(word) ?? []);
  const all = <Name extends "colours" | "shapes">(name: Name) => {
    const values = [...new Set(allHints.flatMap((hints) => hints[name] ?? []))];
    return values.length > 0 ? { [name]: values } : {};
  };
  const land = allHints.find((hints) => hints.land)?.land;
  const hints: PromptHints = Object.assign({}, ...allHints, land ? { land } : {}, all("colours"), all("shapes"));
  return hints.snow && words.some((word) => falls.has(word)) ? { ...hints, falling: "snow" } : hints;
}

/**
 * Whether the painter knows the subject of a prompt: the last noun of its first phrase, such as the lake in "a frozen
 * lake with a boat". "a cat by a lake" and "a city bus" are therefore unknown.
 */
export function isUnderstood(prompt: string): boolean {
  for (const part of prompt.split(/[^\p{L}\p{N}\s-]+/u)) {
    const phrases: string[][] = [[]];
    for (const word of wordsOf(part)) {
      if (links.has(word)) phrases.push([]);
      else if (!fillers.has(word) && !isColour(word)) phrases.at(-1)?.push(word);
    }
    const phrase = phrases.find(({ length }) => length > 0);
    const subject = phrase?.findLast((word, i) => i === 0 || hintsOfWord.has(word) || !word.endsWith("ing"));
    if (subject !== undefined) return hintsOfWord.has(subject) && !onlySettings.has(subject);
  }
  return false;
}
