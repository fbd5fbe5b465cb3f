import { serviceNow } from "./live.ts";

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** A duration in its two largest units: `2 h 42 m`. */
export function lengthOf(ms: number): string {
  const s = Math.max(0, Math.round(ms / 1000));
  if (ms < 950) return `${Math.max(0, Math.round(ms))} ms`;
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} m ${s % 60} s`;
  if (s < 86_400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} m`;
  return `${Math.floor(s / 86_400)} d ${Math.floor((s % 86_400) / 3600)} h`;
}

/** How long ago, by the service's clock. */
export function agoOf(at: string): string {
  const ms = serviceNow() - Date.parse(at);
  // After a restart the clock may be behind what is stored.
  if (ms < -minute) return `in ${lengthOf(-ms)}`;
  if (ms < 1000) return "just now";
  if (ms < minute) return `${Math.floor(ms / 1000)} s ago`;
  if (ms < hour) return `${Math.floor(ms / minute)} min ago`;
  if (ms < day) return `${Math.floor(ms / hour)} h ago`;
  return `${Math.floor(ms / day)} d ago`;
}

/** `2026-01-01 09:30:00`, in UTC like the API. */
export const instantOf = (at: string): string => at.slice(0, 19).replace("T", " ");
export const secondOf = (at: string): string => at.slice(11, 19);
export const clockOf = (at: string): string => at.slice(11, 23);

/** `1 line`, `2 lines`. */
export const countOf = (count: number, noun: string, plural = `${noun}s`): string =>
  `${count} ${count === 1 ? noun : plural}`;

/** An amount with two decimals, and more where it is smaller than a cent: `$0.10`, `$0.002`. */
export function dollars(usd: number): string {
  const exact = usd.toFixed(4).replace(/0{1,2}$/, "");
  return `$${exact}`;
}
