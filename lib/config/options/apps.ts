import * as v from "valibot";
import { textLike, textOf, wholeNumber } from "../../kernel/validation.ts";
import { option } from "./option-types.ts";

const domainRule = "must be a domain in lower case, such as apps.example.com";
const label = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";

/** The way in to what a runtime runs. */
export const apps = v.optional(
  v.strictObject({
    port: v.optional(
      option(wholeNumber(0, 65_535), {
        help: "The port at which the deployed apps can be reached; 0 picks a free one. It is open with a runtime only.",
        flag: "apps-port",
        value: "N",
      }),
      8080,
    ),
    host: v.optional(
      option(textLike(253, /^[A-Za-z0-9.:[\]_-]+$/, "must be a host name or address"), {
        help: "The address at which the port of the apps is open. The commands use `--host` unless it is set.",
      }),
      "127.0.0.1",
    ),
    domain: v.optional(
      option(textLike(189, new RegExp(`^${label}(?:\\.${label})*$`), domainRule), {
        help: "The domain under which each environment has a host: `<environment>-<project>.<domain>`.",
        flag: "apps-domain",
        value: "DOMAIN",
      }),
      "localhost",
    ),
    folder: v.optional(
      option(textOf(1, 4096), {
        help: "The folder of this server's builds, releases and caches, on a disk of its own machine. A runtime with PostgreSQL needs it; a database file has it beside itself.",
        flag: "apps-folder",
        value: "DIR",
      }),
    ),
  }),
  {},
);
