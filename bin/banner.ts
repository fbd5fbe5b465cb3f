import { stripVTControlCharacters, styleText } from "node:util";
import type { Options } from "../lib/index.ts";
import { version } from "../lib/kernel/version.ts";
import { describeDatabase, withoutPassword } from "../lib/store/database-url.ts";

type Row = [name: string, value: string];

const deliveriesRow = ({ outbound }: Options) =>
  outbound?.send
    ? "are sent to public addresses (--send)"
    : "go to this machine and private networks; the inbox catches all others (--send sends them)";

/** The text of a start for people: address, key, database, warnings, and commands that work as printed. */
export function banner(about: {
  mode: "dev" | "start";
  url: string;
  base_url: string;
  dashboard_url: string | null;
  api_key: string | null;
  apps_url: string | null;
  /** What deployments run on; null where they are simulated. */
  runtime?: string | null;
  options: Options;
  /** Whether this start made the database. */
  isNew: boolean;
  readonly warnings: readonly string[];
  color: boolean;
}): string {
  const { mode, url, base_url, dashboard_url, api_key, apps_url, runtime, options, isNew, warnings } = about;
  const bold = (text: string) => styleText("bold", text);
  const database = options.database ?? ":memory:";
  const isShownOnce = database !== ":memory:" && options.seed === undefined && options.key === undefined;
  const rows: Row[] = [
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
    ...(mode === "dev" ? [["Control", `${url}/_svc: svc-server clock, trigger, snapshots, reset`] as Row] : []),
    ...(mode === "dev" && options.seed === undefined && (isNew || database === ":memory:")
      ? [["Seed", "none; --seed demo starts with a project, three users and their keys"] as Row]
      : []),
    ...(mode === "dev" ? [["Deliveries", deliveriesRow(options)] as Row] : []),
    ...(apps_url === null ? [] : [["Apps", apps_url] as Row]),
    ["Runtime", runtime ?? "none: deployments are simulated; svc-server doctor says which --runtime works here"],
    ...(options.clock && options.clock !== "real" ? [["Clock", options.clock] as Row] : []),
  ];
  const key = api_key ?? "sk_live_YOUR_KEY";
  const auth = `-H 'Authorization: Bearer ${key}'`;
  const lines = [
    "",
    `${bold("svc-server")} ${version()} · ${mode === "dev" ? "emulator" : "self-hosted"}`,
    "",
    ...rows.map(([name, value]) => `  ${bold(name.padEnd(10))} ${value}`),
    "",
    ...warnings.flatMap((warning) => [`${bold("WARNING")} ${warning}`, ""]),
    "Try this:",
    "",
    `  curl ${auth} ${base_url}/me`,
    `  curl ${auth} -H 'Content-Type: application/json' -d '{"name":"my-project","region":"eu-west-1"}' ${base_url}/projects`,
    ...(mode === "dev" && options.clock?.startsWith("manual")
      ? [`  curl -H 'Content-Type: application/json' -d '{"by":"10s"}' ${url}/_svc/clock/advance`]
      : []),
    "",
    "Press Ctrl+C to stop.",
    "",
  ];
  const text = lines.join("\n");
  return about.color ? text : stripVTControlCharacters(text);
}
