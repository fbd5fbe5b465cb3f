import { FastResponse } from "srvx";
import { Response } from "../kernel/web.ts";

/**
 * The response of a call in process. srvx's costs half as much, but needs Node's own class below it, which Vitest leaves
 * nobody under happy-dom.
 */
export const WebResponse: typeof FastResponse =
  "happyDOM" in globalThis ? (Response as typeof FastResponse) : FastResponse;
