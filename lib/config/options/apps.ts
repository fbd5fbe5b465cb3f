import * as v from "valibot";
import { parseUrl } from "../../kernel/text/url.ts";
import { textLike, wholeNumber } from "../../kernel/validation.ts";
import { group, option, path } from "./option-types.ts";

const domainRule = "must be a domain in lower case, such as apps.example.com";
const label = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";

const urlRule =
  "must be an http or https URL with * for the part that names the environment, and nothing after the host, such as https://*.apps.example.com";
const openUrl = new RegExp(`^https?://\\*\\.${label}(?:\\.${label})*(?::[1-9]\\d{0,4})?/?$`);

/** Parsed to the URL without the `*`: `https://apps.example.com`. The host of each environment is a subdomain. */
const appsUrl = v.pipe(
  v.string("must be a string"),
  v.toLowerCase(),
  v.check((text) => openUrl.test(text) && parseUrl(text.replace("*", "a")) !== undefined, urlRule),
  v.transform((text) => new URL(text.replace("*.", "")).origin),
);

export const apps = group({
  port: option(wholeNumber(0, 65_535), {
    default: 8080,
    help: "The port at which the deployed apps can be reached; 0 picks a free one. It is open with a runtime only.",
    flag: "apps-port",
    value: "N",
  }),
  host: option(textLike(253, /^[A-Za-z0-9.:[\]_-]+$/, "must be a host name or address"), {
    default: "127.0.0.1",
    help: "The address on which the apps' port listens. With the commands, the default is the value of `--host`.",
  }),
  domain: option(textLike(189, new RegExp(`^${label}(?:\\.${label})*$`), domainRule), {
    default: "localhost",
    help: "The domain under which each environment has a host: `<environment>-<project>.<domain>`.",
    flag: "apps-domain",
    value: "DOMAIN",
  }),
  url: option(appsUrl, {
    help: "The public URL of the apps behind a proxy: `https://*.apps.example.com`, with `*` for the environment's part of the host. The `url` of environments and deployments uses it, and its hosts lead to the apps, as the hosts of `apps.domain` do. Without it, `url` has the port of the apps.",
    example: '"https://*.apps.example.com"',
    flag: "apps-url",
    value: "URL",
  }),
  folder: option(path, {
    help: "The folder for this server's builds, releases and caches, on a local disk. A runtime with PostgreSQL needs it. Beside a database file, the folder has a fixed place, so the option is for PostgreSQL only.",
    example: '"/var/lib/svc-server/apps"',
    flag: "apps-folder",
    value: "DIR",
  }),
});
