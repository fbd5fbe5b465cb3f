import { stripVTControlCharacters, styleText } from "node:util";
import { parseMailServer } from "../lib/drivers/mail/server-url.ts";
import { firstRepositoryIn } from "../lib/drivers/runtime/local-repositories.ts";
import type { Options } from "../lib/index.ts";
import { version } from "../lib/kernel/version.ts";
import { describeDatabase, withoutPassword } from "../lib/store/database-url.ts";

type Row = [name: string, value: string];

const deliveriesRow = ({ outbound }: Options) =>
  outbound?.send
    ? "are sent to public addresses (--send)"
    : "go to this machine and private networks; the inbox catches all others (--send sends them)";

interface About {
  readonly mode: "dev" | "start";
  readonly url: string;
  readonly base_url: string;
  readonly dashboard_url: string | null;
  readonly api_key: string | null;
  readonly apps_url: string | null;
  /** The runtimes for deployments; null if deployments are simulated. */
  readonly runtime?: string | null;
  /** One line per protection of builds and apps. */
  readonly protections?: readonly string[];
  readonly options: Options;
  /** Whether this start created the database. */
  readonly isNew: boolean;
  readonly warnings: readonly string[];
  readonly color: boolean;
}

/** The text that a start prints: address, key, database, warnings, and commands that work as printed. */
export function banner(about: About): string {
  const { mode, warnings } = about;
  const bold = (text: string) => styleText("bold", text);
  const lines = [
    "",
    `${bold("svc-server")} ${version()} · ${mode === "dev" ? "emulator" : "self-hosted"}`,
    "",
    ...rowsOf(about).map(([name, value]) => `  ${bold(name.padEnd(10))} ${value}`),
    "",
    ...warnings.flatMap((warning) => [`${bold("WARNING")} ${warning}`, ""]),
    "Try this, one line after the other:",
    "",
    ...commandsOf(about).map((line) => `  ${line}`),
    "",
    "Press Ctrl+C to stop.",
    "",
  ];
  const text = lines.join("\n");
  return about.color ? text : stripVTControlCharacters(text);
}

function rowsOf(about: About): Row[] {
  const { mode, url, base_url, dashboard_url, api_key, apps_url, runtime, protections = [], options, isNew } = about;
  const database = options.database ?? ":memory:";
  const isShownOnce = database !== ":memory:" && options.seed === undefined && options.key === undefined;
  return [
    ["Interface", base_url],
    ...(dashboard_url === null ? [] : [["Dashboard", dashboard_url] as Row]),
    [
      "API key",
      (api_key && api_key + (isShownOnce ? " (shown only now; store it)" : "")) ??
        "was shown at the first start; make another with: svc-server keys create" +
          (database === "./svc-data" ? "" : ` --database ${withoutPassword(database)}`) +
          (options.keyFile === undefined ? "" : ` --key-file ${options.keyFile}`),
    ],
    [
      "Database",
      database === ":memory:"
        ? "in memory; it is lost when this program ends"
        : `${describeDatabase(database)}${isNew ? " (new)" : ""}`,
    ],
    ...(mode === "dev"
      ? [["Control", `${url}/_svc: svc-server clock, trigger, inbox, mail, scenarios, faults, snapshots, reset`] as Row]
      : []),
    ...(options.trustNetwork?.length ? [["Trusted", trustedRow(options.trustNetwork)] as Row] : []),
    ...(mode === "dev" && options.seed === undefined && (isNew || database === ":memory:")
      ? [["Seed", "none; --seed demo starts with a project, three users and their keys"] as Row]
      : []),
    ...(mode === "dev" ? [["Deliveries", deliveriesRow(options)] as Row] : []),
    ...mailRow(about),
    ...(apps_url === null ? [] : [["Apps", appsRow(apps_url, options)] as Row]),
    ["Runtime", runtime ?? "none: deployments are simulated; svc-server doctor says which --runtime works here"],
    ...protections.map((line, i): Row => [i === 0 ? "Box" : "", line]),
    ...(options.clock && options.clock !== "real" ? [["Clock", options.clock] as Row] : []),
  ];
}

/** Where mails go. `dev` shows this only if a mail server is configured. */
function mailRow({ mode, options }: Pick<About, "mode" | "options">): Row[] {
  const given = typeof options.mail === "function" ? { transport: options.mail } : options.mail;
  if (given?.transport) return [["Mail", "goes to the function mail.transport"]];
  const host = given?.url === undefined ? undefined : parseMailServer(given.url)?.host;
  if (mode === "dev" && host === undefined) return [];
  if (host === undefined) return [["Mail", keptMails]];
  const isSent = mode === "start" || options.outbound?.send === true;
  return [["Mail", isSent ? `is sent through ${host}` : "is kept, and svc-server mail shows it (--send sends it)"]];
}

export const keptMails =
  "is kept, not sent; svc-server mail shows it; set the option mail.url (SVC_MAIL_URL) to send it";

const appsRow = (local: string, { apps }: Options) =>
  apps?.url === undefined ? local : `${apps.url}, which a proxy leads to ${local}`;

const trustedRow = (networks: readonly string[]) =>
  `${networks.join(", ")}: no key for the control interface, plain http for receivers`;

/** A command that creates a deployable folder: a static site, or for `engine` alone a folder with a Dockerfile. */
const folderFor = (runtime: string) =>
  runtime.includes("process")
    ? "mkdir -p hello && echo 'Hello from my first app' > hello/index.html"
    : "mkdir -p hello && printf 'FROM busybox\\nRUN mkdir /www && echo Hello > /www/index.html\\nCMD exec httpd -f -p $PORT -h /www\\n' > hello/Dockerfile";

/** Each command works as printed once the previous ones have run. */
function commandsOf(about: About): string[] {
  const { mode, url, base_url, api_key, apps_url, runtime, options } = about;
  if (apps_url !== null && runtime && options.codeHost?.repos === undefined) {
    const apps = new URL(apps_url);
    return [
      folderFor(runtime),
      `SVC_API_KEY=${api_key ?? "sk_live_YOUR_KEY"} npx svc-server deploy hello --url ${url}`,
      `curl -H 'Host: production-hello.${apps.hostname}' http://127.0.0.1:${apps.port}/`,
    ];
  }
  const auth = `-H 'Authorization: Bearer ${api_key ?? "sk_live_YOUR_KEY"}'`;
  const json = "-H 'Content-Type: application/json'";
  const newest = (list: string, prefix: string) =>
    `$(curl -s ${auth} '${base_url}/${list}?per_page=1' | grep -o '${prefix}_[0-9A-Z]*' | head -n 1)`;
  const repos = options.codeHost?.repos;
  // The default branch of the operator's repository may not be `main`.
  const source =
    repos === undefined
      ? { type: "git", repo: "acme/web", branch: "main" }
      : { type: "git", repo: firstRepositoryIn(repos) ?? "OWNER/REPO" };
  return [
    `curl ${auth} ${base_url}/me`,
    `curl ${auth} ${json} -d '{"name":"my-project","region":"eu-west-1"}' ${base_url}/projects`,
    `curl ${auth} ${json} -d '{"project_id":"'${newest("projects", "proj")}'","environment":"production","source":${JSON.stringify(source)}}' ${base_url}/deployments`,
    ...(mode === "dev" && options.clock?.startsWith("manual")
      ? [`curl ${json} -d '{"by":"10s"}' ${url}/_svc/clock/advance`]
      : []),
    `curl -N ${auth} "${base_url}/deployments/${newest("deployments", "dep")}/logs?follow=true"`,
  ];
}
