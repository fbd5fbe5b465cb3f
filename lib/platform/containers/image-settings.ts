import type { Schedule } from "../../drivers/deployment/contract.ts";
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

/** The variable PORT, else the port in svc.json, else the only exposed port of the image, else 8080. */
export function portOf(variables: Readonly<Record<string, string>>, { ports, labels: its }: Image): number {
  const variable = variables["PORT"];
  const port = portIn(variable);
  if (variable !== undefined && port === undefined)
    throw new Failure(`the variable PORT must be a port from 1 to 65535, not ${variable}`);
  const [exposed, another] = ports;
  return port ?? portIn(its[labels.port]) ?? (another === undefined ? exposed : undefined) ?? defaultPort;
}

/** The health path in svc.json. A foreign image may also carry the label. */
export function healthOf({ labels: its }: Image): string | null {
  const path = its[labels.health] ?? "";
  return /^\/[\x21-\x7e]{0,1023}$/.test(path) ? path : null;
}

/** The workers and schedules of a release. They run in containers of the same image. */
export interface Beside {
  readonly workers: readonly Worker[];
  readonly schedules: readonly Schedule[];
}

/** The labels of an image built from a repository. Empty labels hide those of the base image. */
export const besideLabels = (procfile: string, schedules: readonly Schedule[]): Record<string, string> => ({
  [labels.workers]: workersIn(processesIn(procfile))
    .map(({ name, command }) => `${name}: ${command}`)
    .join("\n"),
  [labels.schedules]: JSON.stringify(schedules.map(({ timeout_s, ...one }) => ({ ...one, timeout: `${timeout_s}s` }))),
});

/** A foreign image may carry these labels too. An invalid schedule throws a Failure. */
export const besideOf = ({ labels: its }: Image): Beside => ({
  workers: workersIn(processesIn(its[labels.workers] ?? "")),
  schedules: schedulesIn(`the image's label ${labels.schedules}`, its[labels.schedules] ?? "[]"),
});
