import { FastResponse } from "srvx";
import { Response } from "../kernel/web.ts";

/**
 * The Response for calls in process. srvx's class costs half as much. It needs Node's own class, which Vitest hides
 * under happy-dom.
 */
export const WebResponse: typeof FastResponse =
  "happyDOM" in globalThis ? (Response as typeof FastResponse) : FastResponse;
