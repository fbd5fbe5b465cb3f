import { readdirSync } from "node:fs";

/** One page: nobody reads a longer map. */
export const longestMap = 150;
export const widestMap = 200;

/** Every folder below lib with code that people write: `lib/platform/box`. */
export const foldersOfLib = (folder = "lib"): string[] =>
  readdirSync(folder, { withFileTypes: true })
    .filter((one) => one.isDirectory() && one.name !== "generated")
    .flatMap(({ name }) => [`${folder}/${name}`, ...foldersOfLib(`${folder}/${name}`)]);

/** The folders in the tree. Each has a line, indented by two spaces more than its parent. */
function mapped(map: string): string[] {
  const around: string[] = [];
  return [...map.matchAll(/^( *)([\w-]+)\/ /gm)].map(([, indent = "", name = ""]) => {
    around.splice(indent.length / 2, around.length, name);
    return around.join("/");
  });
}

/**
 * Folders that the map lacks, and folders of the map that are gone. The map names no files: there are too many, and
 * each states its own purpose.
 */
export function mapMistakes(map: string, folders: readonly string[]): string[] {
  const named = mapped(map).filter((path) => path !== "lib");
  return [
    ...folders.filter((path) => !named.includes(path)).map((path) => `does not name ${path}/; add a line to its tree`),
    ...named.filter((path) => !folders.includes(path)).map((path) => `names ${path}/, which is gone; remove its line`),
  ].map((mistake) => `lib/README.md ${mistake}`);
}

export function sizeMistakes(map: string): string[] {
  const lines = map.replace(/\n$/, "").split("\n");
  const advice = "move what concerns one file into that file";
  return [
    ...(lines.length > longestMap
      ? [`lib/README.md has ${lines.length} lines; ${advice} (${longestMap} at most)`]
      : []),
    ...lines.flatMap((line, i) =>
      line.length > widestMap
        ? [`lib/README.md:${i + 1} has ${line.length} characters; ${advice} (${widestMap} at most)`]
        : [],
    ),
  ];
}
