/** The features that the known words of a prompt ask for. */
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
  /** Mixed into every colour. */
  readonly tint?: string;
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
  ["cyberpunk neon", { land: "city", time: "night", neon: true, tint: "#c822b4" }],
  ["sea ocean seascape coast island islands horizon sailing boat ship", { land: "sea", water: true }],
  ["beach tropical lagoon", { land: "sea", water: true, tint: "#1ec8c8" }],
  ["lake lakes river fjord pond water reflection reflections harbour harbor bay waterfront", { water: true }],
  ["rings ringed saturn", { land: "space", rings: true }],
  [
    "space galaxy galaxies nebula planet planets cosmos cosmic universe astronaut orbit asteroid rocket spaceship",
    { land: "space" },
  ],
  [
    "abstract pattern patterns gradient gradients fluid marble swirl swirls texture wallpaper background shapes geometric minimal psychedelic liquid",
    { land: "abstract" },
  ],
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
  ["overcast grey gray", { clouds: 0.85, storm: true }],
  ["clear cloudless", { clouds: 0 }],
  ["storm stormy thunder thunderstorm dramatic tempest", { clouds: 0.85, storm: true }],
  ["rain rainy raining drizzle", { clouds: 0.8, storm: true, falling: "rain" }],
  ["mist misty fog foggy haze hazy", { mist: 1, clouds: 0.3 }],
  ["snow snowy winter ice icy frozen frost glacier", { snow: true }],
  ["snowfall snowing blizzard snowstorm christmas", { snow: true, falling: "snow", clouds: 0.7 }],
  ["red crimson scarlet", { tint: "#d22828" }],
  ["orange amber", { tint: "#f07818" }],
  ["yellow gold", { tint: "#f0c020" }],
  ["green emerald lime", { tint: "#28aa50" }],
  ["teal turquoise cyan", { tint: "#14b4b4" }],
  ["blue azure cobalt", { tint: "#2860dc" }],
  ["purple violet lavender lilac", { tint: "#8c46d2" }],
  ["pink rose magenta", { tint: "#f05a9b" }],
];

const hintsOfWord = new Map(
  vocabulary.flatMap(([words, hints]) => words.split(" ").map((word) => [word, hints] as const)),
);

/** The hints of all words of a prompt; a later word wins. Only whole words count: a "street" holds no tree. */
export const hintsOf = (prompt: string): PromptHints =>
  Object.assign(
    {},
    ...prompt
      .toLowerCase()
      .split(/[^\p{L}\p{N}]+/u)
      .map((word) => hintsOfWord.get(word)),
  );
