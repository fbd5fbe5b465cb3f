import { parseDockerfile } from "./dockerfile.ts";

/** Instruction options that require BuildKit. */
const known: Readonly<Record<string, readonly string[]>> = {
  RUN: ["--mount", "--network"],
  COPY: ["--chmod", "--link", "--parents", "--exclude"],
  ADD: ["--chmod", "--link", "--exclude", "--checksum", "--keep-git-dir"],
};

/**
 * The first part of a Dockerfile that requires BuildKit, such as `RUN --mount in line 3`; undefined if nothing does.
 */
export function needsBuildKit(dockerfile: string): string | undefined {
  for (const { line, keyword, options } of parseDockerfile(dockerfile).instructions) {
    const found = options.map((one) => one.split("=", 1)[0] ?? "").find((one) => known[keyword]?.includes(one));
    if (found !== undefined) return `${keyword} ${found} in line ${line}`;
  }
  return undefined;
}
