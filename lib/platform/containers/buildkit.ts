import { parseDockerfile } from "./dockerfile.ts";

/** Instruction options that require BuildKit. */
const newer: Readonly<Record<string, readonly string[]>> = {
  RUN: ["--mount", "--network"],
  COPY: ["--chmod", "--link", "--parents", "--exclude"],
  ADD: ["--chmod", "--link", "--exclude", "--checksum", "--keep-git-dir"],
};

/**
 * The first part of a Dockerfile that requires BuildKit, such as `RUN --mount in line 3`; undefined if nothing does.
 */
export function needsBuildKit(dockerfile: string): string | undefined {
  for (const { line, keyword, options } of parseDockerfile(dockerfile).instructions) {
    const option = options.map((one) => one.split("=", 1)[0] ?? "").find((one) => newer[keyword]?.includes(one));
    if (option !== undefined) return `${keyword} ${option} in line ${line}`;
  }
  return undefined;
}
