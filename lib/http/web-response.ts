import { FastResponse } from "srvx";
import { Response } from "../kernel/web.ts";

/**
 * The response of a call in process. srvx's class costs half as much, but needs Node's own class, which is not reachable in
 * Vitest under happy-dom.
 */
export const WebResponse: typeof FastResponse =
  "happyDOM" in globalThis ? (Response as typeof FastResponse) : FastResponse;
