import { fileURLToPath } from "node:url";

export interface OwnProgram {
  readonly command: readonly string[];
  /** The files and folders that it reads. */
  readonly reads: readonly string[];
}

/** Runs the bundle entry `dist/lib/NAME.js`, or in the sources `file`, relative to the importer's URL, with tsx. */
export function ownProgram(name: string, importer: string, file: string): OwnProgram {
  const path = (url: string, base: string) => fileURLToPath(new URL(url, base));
  if (!importer.endsWith(".ts")) {
    const program = path(`../lib/${name}.js`, importer);
    // Includes the chunks that it shares with other entries, and the package.json that marks them as modules.
    return { command: ["node", program], reads: [path("..", importer), path("../../package.json", importer)] };
  }
  const command = ["node", "--import", import.meta.resolve("tsx"), path(file, importer)];
  return { command, reads: [path("../../..", import.meta.url)] };
}
