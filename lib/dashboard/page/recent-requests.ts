import type { RecentRequest } from "../../http/recent-requests.ts";
import { orNone, request } from "./api.ts";

/** Reads the requests of the last hour, or one of them with its bodies. */
export const readRequests = async <T>(path: string, signal?: AbortSignal) =>
  (await request("GET", `/dashboard/session/requests${path}`, undefined, signal)) as T;

/** The latest changes by the control interface, newest first; none for roles that may not read requests. */
const controlCalls = async () => (await orNone(readRequests<{ data: RecentRequest[] }>("?search=/_svc/"))).data;

/** The number of the move before which a page took this snapshot; undefined if nobody knows it any more. */
export const moveAfter = async (snapshot: string): Promise<number | undefined> =>
  (await controlCalls()).find((one) => one.request_id.includes(`-${snapshot}-`))?.number;

export const controlCallsSince = async (number = 0) => (await controlCalls()).filter((one) => one.number > number);

/** The path of the page with all requests about a record. It is not in the file of that page, which loads later. */
export const requestsOf = (id: string): string => `/requests?search=${encodeURIComponent(id)}`;
