/** The options of instructions that only BuildKit knows. */
const options: Readonly<Record<string, readonly string[]>> = {
  RUN: ["--mount", "--network", "--security"],
  COPY: ["--chmod", "--link", "--parents", "--exclude"],
  ADD: ["--chmod", "--link", "--exclude", "--checksum", "--keep-git-dir"],
};
const hereDocument = /^<<-?["']?[A-Za-z_]/;

/** The first part of a Dockerfile that only BuildKit knows, such as `RUN --mount in line 3`; undefined without one. */
export function needsBuildKit(dockerfile: string): string | undefined {
  const lines = dockerfile.split(/\r?\n/);
  for (let at = 0; at < lines.length; at++) {
    const number = at + 1;
    let whole = lines[at] ?? "";
    while (whole.endsWith("\\") && at + 1 < lines.length) whole = `${whole.slice(0, -1)} ${lines[++at]}`;
    const [word = "", ...others] = whole.trim().split(/\s+/);
    const known = options[word.toUpperCase()];
    const end = others.findIndex((one) => !one.startsWith("--"));
    const given = (end === -1 ? others : others.slice(0, end)).map((one) => one.split("=", 1)[0] ?? "");
    const found = known && (given.find((one) => known.includes(one)) ?? others.find((one) => hereDocument.test(one)));
    if (found !== undefined) return `${word.toUpperCase()} ${found} in line ${number}`;
  }
  return undefined;
}
