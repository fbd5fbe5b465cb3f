import * as v from "valibot";
import { byteSize, option, path } from "./option-types.ts";

/** The git repositories that the service itself hosts. They need a runtime. */
export const repositories = v.optional(
  v.strictObject({
    folder: v.optional(
      option(path, {
        help: "The folder of the git repositories that are pushed to the service. Without it they lie beside the database file, in `FILE-repositories`; with PostgreSQL, in the folder `repositories` of `apps.folder`.",
        example: '"/var/lib/svc-server/repositories"',
      }),
    ),
    pushLimit: v.optional(
      option(byteSize, {
        help: "The largest pack of one push. A larger push is refused as a whole.",
      }),
      "1GiB",
    ),
  }),
  {},
);
