import { styleText } from "node:util";
import type { Protection } from "../lib/drivers/deployment/protections.ts";
import type { Options } from "../lib/index.ts";
import { pathOf } from "../lib/kernel/text/paths.ts";
import { version } from "../lib/kernel/version.ts";
import { firstRepositoryIn } from "../lib/platform/runtime/local-repositories.ts";
import { describeDatabase, withoutPassword } from "../lib/store/database-url.ts";
import { wrapped } from "./output.ts";

type Row = [name: string, value: string];

interface About {
  readonly mode: "dev" | "start";
  readonly url: string;
  readonly base_url: string;
  readonly dashboard_url: string | null;
  readonly api_key: string | null;
  readonly apps_url: string | null;
  /** The runtimes for deployments; null if deployments are simulated. */
  readonly runtime?: string | null;
  readonly protections?: readonly Protection[];
  readonly options: Options;
  readonly isNew: boolean;
  readonly warnings: readonly string[];
  readonly color: boolean;
}

const width = 80;

/**
 * The text that a start prints: addresses, key, unusual options, warnings, and commands that work as printed. Without
 * warnings and unusual options, it has at most 14 lines.
 */
export function banner(about: About): string {
  const { mode, options, warnings } = about;
  const styled = (style: "bold" | "cyan" | "yellow", text: string) =>
    about.color ? styleText(style, text, { validateStream: false }) : text;
  const rows = rowsOf(about).flatMap(([name, value]) =>
    wrapped(value, width - 13).map((line, i) => `  ${styled("cyan", (i === 0 ? name : "").padEnd(9))}  ${line}`),
  );
  const selfHosted = isMailSent(options) ? "self-hosted" : "self-hosted · mail is kept, not sent";
  const kind = mode === "start" ? selfHosted : databaseOf(options) === ":memory:" ? "emulator in memory" : "emulator";
  return [
    `${styled("bold", "svc-server")} ${version()} · ${kind} · Ctrl+C stops it`,
    ...rows,
    ...warnings.flatMap((warning) => {
      const [first = "", ...rest] = wrapped(`WARNING ${warning}`, width);
      return [first.replace("WARNING", styled("yellow", "WARNING")), ...rest];
    }),
    "",
    "In a second terminal:",
    ...[connecting(about), ...commandsOf(about)].map((line) => `  ${line}`),
  ].join("\n");
}

const databaseOf = ({ database = ":memory:" }: Options) => pathOf(database);

function rowsOf(about: About): Row[] {
  const { mode, base_url, dashboard_url, api_key, runtime, protections = [], options, isNew } = about;
  const { allow = [] } = options.outbound ?? {};
  const database = databaseOf(options);
  const isShownOnce = database !== ":memory:" && options.seed === undefined && options.key === undefined;
  const missing = protections.flatMap(({ name, missing }) => (missing === undefined ? [] : [name]));
  const row = (isShown: unknown, name: string, value: string): Row[] => (isShown ? [[name, value]] : []);
  return [
    ["Interface", base_url],
    ...row(dashboard_url !== null, "Dashboard", String(dashboard_url)),
    [
      "API key",
      (api_key && api_key + (isShownOnce ? " (shown only now)" : "")) ??
        "was shown at the first start; make another with: svc-server keys create" +
          (database === "./svc-data" ? "" : ` --database ${withoutPassword(database)}`) +
          (options.keyFile === undefined ? "" : ` --key-file ${options.keyFile}`),
    ],
    ...row(database !== ":memory:", "Database", `${describeDatabase(database)}${isNew ? " (new)" : ""}`),
    ...row(options.clock !== "real" && options.clock, "Clock", String(options.clock)),
    ...row(mode === "start" || runtime, "Apps", runtime ? appsRow(about) : "are simulated; svc-server doctor helps"),
    ...row(missing.length > 0, "Box", `lacks ${missing.join(", ")}; svc-server doctor says how to add it`),
    ...row(options.trustNetwork?.length, "Trusted", trustedRow(options.trustNetwork ?? [])),
    ...row(allow.length, "Allowed", `${allow.join(", ")}: open to outbound requests`),
    ...row(mode === "dev" && options.outbound?.send, "Sent", "deliveries leave for public addresses (--send)"),
    ...row(
      mode === "dev" && hasUnusedMailServer(options),
      "Mail",
      "is kept; svc-server mail shows it (--send sends it)",
    ),
  ];
}

/** Whether `start` sends mails. */
const isMailSent = ({ mail }: Options): boolean =>
  typeof mail === "function" || (mail?.transport ?? mail?.url) !== undefined;

/** Whether a mail server is configured but not used: `dev` sends nothing without `--send`. */
const hasUnusedMailServer = ({ mail, outbound }: Options): boolean =>
  typeof mail === "object" && mail.url !== undefined && mail.transport === undefined && outbound?.send !== true;

function appsRow({ apps_url: local, runtime, options }: About): string {
  if (local === null) return String(runtime);
  const address = options.apps?.url === undefined ? local : `${options.apps.url}, which a proxy leads to ${local}`;
  return `${address} (${runtime})`;
}

const trustedRow = (networks: readonly string[]) =>
  `${networks.join(", ")}: no key for the control interface, plain http for receivers`;

const long = (command: string) => wrapped(command, width - 6).join(" \\\n    ");

const connecting = ({ url, api_key }: About) =>
  long(`export SVC_URL=${url} SVC_API_KEY=${api_key ?? "sk_live_YOUR_KEY"}`);

/** Commands that make a folder to deploy: a static site. If `engine` is the only runtime, it needs a Dockerfile. */
const folderFor = (runtime: string) => [
  "mkdir -p hello && echo 'Hello from my first app' > hello/index.html",
  ...(runtime.includes("process")
    ? []
    : ["printf 'FROM busybox\\nCOPY . w\\nCMD httpd -fp $PORT -h w' > hello/Dockerfile"]),
];

/** Each command works as printed once the previous ones have run. */
function commandsOf({ mode, apps_url, runtime, options }: About): string[] {
  const repos = options.codeHost?.repos;
  if (apps_url !== null && runtime && repos === undefined) {
    const apps = new URL(apps_url);
    const request = `curl -H 'Host: production-hello.${apps.hostname}' http://127.0.0.1:${apps.port}/`;
    return [...folderFor(runtime), "npx svc-server deploy hello", request];
  }
  const create = "npx svc-server call projects.create name=hello region=local";
  const list = "npx svc-server call deployments.list";
  if (mode === "dev" && repos === undefined) return [create, "npx svc-server trigger deployment.succeeded", list];
  const repo = repos === undefined ? "acme/web" : (firstRepositoryIn(pathOf(repos)) ?? "OWNER/REPO");
  const deploy = `npx svc-server call deployments.create project_id=$id environment=production source.type=git source.repo=${repo}`;
  return [`id=$(${create} --field id)`, long(deploy), list];
}
