import { hasWithin } from "../runtime/app-settings.ts";
import { wantedGo } from "./wanted-versions.ts";

const binary = ".svc/app";
const mains = `go list -f '{{if eq .Name "main"}}{{.Dir}}{{end}}' ./...`;

/** How to build and start a Go module: its first main package, preferably the one in the top folder. */
export function goApp(root: string) {
  if (!hasWithin(root, "go.mod")) return undefined;
  const build = [
    `main=$(${mains}) || exit`,
    `[ -n "$main" ] || { echo 'error: the module has no package main'; exit 1; }`,
    // A Procfile names binaries after their packages, as on Heroku.
    `mkdir -p bin && echo "$main" | xargs -d '\\n' go build -o bin/`,
    `go build -o ${binary} "$(echo "$main" | head -n 1)"`,
  ].join(" && ");
  return {
    name: "Go" as const,
    found: "go.mod",
    start: `./${binary}`,
    wanted: wantedGo(root),
    steps: [{ name: "Building", command: build, program: "go" }],
  };
}
