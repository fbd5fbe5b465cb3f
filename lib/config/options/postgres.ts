import * as v from "valibot";
import { oneOf } from "../../kernel/validation.ts";
import { parseKey } from "../../store/encryption.ts";
import { checkedText, group, option, path } from "./option-types.ts";

export const encryptionKey = option(
  checkedText(
    (text) => parseKey(text) !== undefined,
    "must be 32 bytes in base64 or hex; make them with: openssl rand -base64 32",
  ),
  {
    help: "The key that encrypts secrets in a PostgreSQL database: 32 bytes in base64 or hex. Without it, `keyFile` names its file; one of them is required there.",
    example: '"4jhZ4Bf3mTnVx0cM8uJrYb7QwKpLs2eD5gHaXtNiOz0="',
  },
);

export const keyFile = option(path, {
  help: "The path of a file with the encryption key, instead of the key itself.",
  flag: "key-file",
  value: "PATH",
  example: '"/etc/svc-server/key"',
});

export const migrate = option(v.boolean(), {
  default: true,
  help: "Whether a start may update the schema of its database (`start`). With `false`, the start fails if `svc-server migrate` must run first.",
  flag: "migrate",
  value: "true|false",
  mode: "start",
});

export const assets = group({
  store: option(oneOf(["database", "folder"]), {
    help: "Where the files of generations are, with PostgreSQL: in the `database`, the default, or in a `folder`.",
    example: '"database"',
  }),
  folder: option(path, {
    help: "The path of that folder, which all processes share; only with `folder`.",
    example: '"/srv/svc-assets"',
  }),
});
