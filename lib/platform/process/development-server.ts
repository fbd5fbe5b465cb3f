/** Programs that compile sources on each request or change. They are not for production, and are large and slow. */
const servers = [
  "(react-scripts|react-app-rewired|craco|nest|docusaurus|expo|farm) start",
  "(gatsby|gridsome) develop",
  "(gatsby|docusaurus|ionic) serve",
  "(vite|nuxt|nuxi|nuxt-ts|next)( (dev|serve|preview))?( [-.].*)?$",
  "(astro|svelte-kit|rsbuild|vitepress|vuepress|remix|react-router|vinxi|umi|max|snowpack|storybook) (dev|preview|serve)",
  "remix vite:dev",
  "(ng|ember) (s|serve|server)( |$)",
  "ng run \\S+:serve",
  "nx (serve|dev|run \\S+:(serve|dev))",
  "turbo (run )?dev",
  "(vue-cli-service|rspack|quasar) (serve|dev)",
  "webpack(-dev-server| serve|-cli serve)",
  "parcel( serve| [^b-]|$)",
  "(@11ty/)?eleventy .*--serve",
  "hexo (s|server)( |$)",
  "start-storybook",
  "preact watch",
];
const isServer = new RegExp(`^(${servers.join("|")})`);
const runner = /^(npx|bunx|pnpx|exec|env|cross-env|dotenv|-.*|\w+=.*)$/;
const managers = /^(npm|yarn|pnpm|bun)$/;
const managersOwn = /^(run|run-script|exec|dlx|x|-.*)$/;

/** Drops the words in front of a program. */
const from = (words: readonly string[], skipped: RegExp) => {
  const first = words.findIndex((word) => !skipped.test(word));
  return first < 0 ? [] : words.slice(first);
};

/** The development server that a command runs, also through scripts of package.json; undefined if it runs none. */
export function developmentServerIn(
  command: string,
  scripts: Readonly<Record<string, string>>,
  seen: readonly string[] = [],
): string | undefined {
  // Commands before the last one prepare it.
  const last = command.split(/&&|;/).at(-1) ?? "";
  const [program = "", ...further] = from(last.trim().split(/\s+/), runner);
  if (!managers.test(program)) {
    const text = [program.replace(/^.*node_modules\/\.bin\//, ""), ...further].join(" ");
    return isServer.test(text) ? text : undefined;
  }
  const [name = "", ...others] = from(further, managersOwn);
  const script = scripts[name];
  if (script === undefined) return name === "" ? undefined : developmentServerIn([name, ...others].join(" "), {}, seen);
  return seen.includes(name) ? undefined : developmentServerIn(script, scripts, [...seen, name]);
}
