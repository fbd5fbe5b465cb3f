import * as v from "valibot";
import { parseUrl } from "../../kernel/url.ts";
import { textLike, textOf } from "../../kernel/validation.ts";
import { option } from "./option-types.ts";

const url = v.pipe(
  v.string("must be a string"),
  v.check(
    (text) =>
      /^(https?|ssh|file):\/\//.test(text) &&
      text.includes("{repo}") &&
      !/[\s\\^]/.test(text) &&
      parseUrl(text.replaceAll("{repo}", "owner/repo")) !== undefined,
    "must be a URL with {repo} in it, such as https://git.example.com/{repo}.git; its scheme is https, http, ssh or file",
  ),
);

const repositories = textLike(
  281,
  /^[A-Za-z0-9._*?-]+(\/[A-Za-z0-9._*?-]+)?$/,
  "must be a glob of repositories, such as acme/*",
);

export const codeHost = v.optional(
  v.strictObject({
    url: v.optional(
      option(url, { help: "Where repositories are fetched from; `{repo}` stands for `owner/repo`." }),
      "https://github.com/{repo}.git",
    ),
    token: v.optional(
      option(textLike(4096, /^[\x21-\x7e]+$/, "must be a token of visible ASCII characters"), {
        help: "The token that fetches private repositories over https.",
      }),
    ),
    organizations: v.optional(
      option(v.record(textOf(1, 64), v.array(repositories, "must be a list")), {
        help: 'Whose deployments and pushes the token and the connected app serve: the names of organizations, each with globs of repositories: `{"acme":["acme/*"]}`. Left out, they serve the only organization of the service, and none where there are several. For others a repository must be public: it is read without the token.',
      }),
    ),
    repos: v.optional(
      option(textOf(1, 4096), {
        help: "A folder of repositories on this machine, instead of the code host: `DIR/owner/repo` or `DIR/repo`, bare or a working copy (`dev`).",
        flag: "repos",
        value: "DIR",
        mode: "dev",
      }),
    ),
    secret: v.optional(
      option(textOf(1, 256), {
        help: "The secret of the connected app. It verifies pushes for integrations that have no secret of their own.",
      }),
    ),
  }),
  {},
);
