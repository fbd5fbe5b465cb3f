import { hasWithin } from "../runtime/app-settings.ts";

/** Languages that are not built here, each with the files that show it. */
const languages = {
  Ruby: ["Gemfile", "config.ru"],
  PHP: ["composer.json", "index.php"],
  Java: ["pom.xml", "build.gradle", "build.gradle.kts"],
  Scala: ["build.sbt"],
  Rust: ["Cargo.toml"],
  Deno: ["deno.json", "deno.jsonc"],
  Hugo: ["hugo.toml", "hugo.yaml", "hugo.json", "archetypes/default.md"],
  Elixir: ["mix.exs"],
  Dart: ["pubspec.yaml"],
  Swift: ["Package.swift"],
  Haskell: ["stack.yaml"],
} as const;

/** The reason why a repository of another language does not run; undefined if it shows none. */
export function otherLanguage(root: string): string | undefined {
  for (const [name, files] of Object.entries(languages)) {
    const file = files.find((one) => hasWithin(root, one));
    if (file !== undefined)
      return `the repository is for ${name} (${file}), which is not built here: add a Dockerfile, and deploy it with the runtime engine (option deployments.runtime)`;
  }
  return undefined;
}
