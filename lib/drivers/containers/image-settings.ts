import type { Schedule } from "../deployment/contract.ts";
import { schedulesIn } from "../runtime/app-settings.ts";
import { Failure } from "../runtime/failure.ts";
import { processesIn, workersIn } from "../runtime/procfile.ts";
import type { Worker } from "../runtime/workers.ts";
import { labels } from "./container-settings.ts";
import type { Image } from "./images.ts";

const defaultPort = 8080;

const portIn = (text: string | undefined) =>
  text !== undefined && /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535
    ? Number(text)
    : undefined;

/** The variable PORT, else the port of svc.json, else the only one that the image exposes, else 8080. */
export function portOf(variables: Readonly<Record<string, string>>, { ports, labels: its }: Image): number {
  const own = variables["PORT"];
  const port = portIn(own);
  if (own !== undefined && port === undefined)
    throw new Failure(`the variable PORT must be a port from 1 to 65535, not ${own}`);
  const [exposed, another] = ports;
  return port ?? portIn(its[labels.port]) ?? (another === undefined ? exposed : undefined) ?? defaultPort;
}

/** The path of svc.json. The label may also be one of an image that somebody else built. */
export function healthOf({ labels: its }: Image): string {
  const path = its[labels.health] ?? "/";
  return /^\/[\x21-\x7e]{0,1023}$/.test(path) ? path : "/";
}

/** What a release runs beside its app, in containers of the same image. */
export interface Beside {
  readonly workers: readonly Worker[];
  readonly schedules: readonly Schedule[];
}

/** The labels of an image that is built of a repository. Empty ones hide those of the image that it is built upon. */
export const besideLabels = (procfile: string, schedules: readonly Schedule[]): Record<string, string> => ({
  [labels.workers]: workersIn(processesIn(procfile))
    .map(({ name, command }) => `${name}: ${command}`)
    .join("\n"),
  [labels.schedules]: JSON.stringify(schedules.map(({ timeout_s, ...one }) => ({ ...one, timeout: `${timeout_s}s` }))),
});

/** The labels may also be those of an image that somebody else built: a wrong schedule is a Failure. */
export const besideOf = ({ labels: its }: Image): Beside => ({
  workers: workersIn(processesIn(its[labels.workers] ?? "")),
  schedules: schedulesIn(`the image's label ${labels.schedules}`, its[labels.schedules] ?? "[]"),
});
