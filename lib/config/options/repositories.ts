import { byteSize, group, option, path } from "./option-types.ts";

/** The git repositories that the service itself hosts. They need a runtime. */
export const repositories = group({
  folder: option(path, {
    help: "The folder of the git repositories that are pushed to the service. Without it they lie beside the database file, in `FILE-repositories`; with PostgreSQL, in the folder `repositories` of `apps.folder`.",
    example: '"/var/lib/svc-server/repositories"',
  }),
  pushLimit: option(byteSize, {
    default: "1GiB",
    help: "The largest pack of one push. A larger push is refused as a whole.",
  }),
});
