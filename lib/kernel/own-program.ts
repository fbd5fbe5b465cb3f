import { fileURLToPath } from "node:url";

/** A program of ours that runs as a process of its own. */
export interface OwnProgram {
  readonly command: readonly string[];
  /** The files and folders that it reads. */
  readonly reads: readonly string[];
}

/**
 * The program of an entry of the bundle (`dist/lib/NAME.js`), or of the sources: `file`, relative to the importer's URL.
 * Those run with tsx, and read the whole repository.
 */
export function ownProgram(name: string, importer: string, file: string): OwnProgram {
  const path = (url: string, base: string) => fileURLToPath(new URL(url, base));
  if (!importer.endsWith(".ts")) {
    const program = path(`../lib/${name}.js`, importer);
    // With the parts that it shares with other entries, and the file that says they are modules.
    return { command: ["node", program], reads: [path("..", importer), path("../../package.json", importer)] };
  }
  const command = ["node", "--import", import.meta.resolve("tsx"), path(file, importer)];
  return { command, reads: [path("../..", import.meta.url)] };
}
