import * as v from "valibot";
import { parseUrl } from "../../kernel/text/url.ts";
import { textLike, textOf } from "../../kernel/validation.ts";
import { checkedText, duration, group, option, path, plainUrl, visibleText } from "./option-types.ts";

const url = checkedText(
  (text) =>
    /^(https?|ssh|file):\/\//.test(text) &&
    text.includes("{repo}") &&
    !/[\s\\^]/.test(text) &&
    parseUrl(text.replaceAll("{repo}", "owner/repo")) !== undefined,
  "must be a URL with {repo} in it, such as https://git.example.com/{repo}.git; its scheme is https, http, ssh or file",
);

const repositories = textLike(
  281,
  /^[A-Za-z0-9._*?-]+(\/[A-Za-z0-9._*?-]+)?$/,
  "must be a glob of repositories, such as acme/*",
);

export const codeHost = group({
  url: option(url, {
    default: "https://github.com/{repo}.git",
    help: "Where repositories are fetched from; `{repo}` stands for `owner/repo`.",
  }),
  api: option(
    checkedText(
      (text) => plainUrl(text) !== undefined,
      "must be a URL such as https://git.example.com/api/v1; its scheme is https or http",
    ),
    {
      help: "The base URL of the code host's API, where `token` sets the status of commits. A URL that ends with `/api/v4` means GitLab, with `/api/v1` Gitea, any other GitHub. Without it, the URL is derived from `url`.",
      example: '"https://git.example.com/api/v1"',
    },
  ),
  token: option(visibleText("a token"), {
    help: "The token that fetches private repositories over https, and sets the status of deployed commits. Without it, only public repositories can be read, and no status is set.",
    example: '"ghp_demo"',
  }),
  organizations: option(v.record(textOf(1, 64), v.array(repositories, "must be a list")), {
    help: 'The organizations whose deployments and pushes the token and the connected app serve, each with globs of repositories: `{"acme":["acme/*"]}`. Without it, they serve the only organization of the service, or none if there are several. Other organizations can read only public repositories, without the token.',
    example: '{ acme: ["acme/*"] }',
  }),
  repos: option(path, {
    help: "A folder of repositories on this machine, instead of the code host: `DIR/owner/repo` or `DIR/repo`, bare or a working copy (`dev`). Without it, repositories come from `url`.",
    example: '"./repositories"',
    flag: "repos",
    value: "DIR",
    mode: "dev",
  }),
  secret: option(textOf(1, 256), {
    help: "The secret of the connected app. It verifies pushes for integrations that have no secret of their own. Without it, `start` refuses those pushes, and `dev` takes them unsigned.",
    example: '"whsec_demo"',
  }),
});

export const previewLifetime = option(duration, {
  default: "14d",
  help: "How long the environment of a pull or merge request stays after its last deployment, unless the request ends earlier.",
});
