import type { RecentRequest } from "../../http/recent-requests.ts";
import { isOwnRequest, orNone, request } from "./api.ts";

/** Reads the requests of the last hour, or one of them with its bodies. */
export const readRequests = async <T>(path: string, signal?: AbortSignal) =>
  (await request("GET", `/dashboard/session/requests${path}`, undefined, signal)) as T;

/** The latest changes by the control interface, newest first; none for roles that may not read requests. */
const controlCalls = async () => (await orNone(readRequests<{ data: RecentRequest[] }>("?search=/_svc/"))).data;

/** The number of this tab's last move of the clock. Later requests have larger numbers. */
export const lastMove = async (): Promise<number | undefined> =>
  (await controlCalls()).find((one) => one.path === "/_svc/clock/advance" && isOwnRequest(one.request_id))?.number;

export const controlCallsSince = async (number = 0) => (await controlCalls()).filter((one) => one.number > number);

/** The path of the page with all requests about a record. It is not in the file of that page, which loads later. */
export const requestsOf = (id: string): string => `/requests?search=${encodeURIComponent(id)}`;
