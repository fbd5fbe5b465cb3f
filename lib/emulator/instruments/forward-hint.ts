import { mustBeHttps } from "../../drivers/outbound/target.ts";
import type { Writer } from "../../http/answer.ts";

const hint = `${mustBeHttps}; for a receiver on this machine, use https://NAME.inbox.test and PUT /_svc/inbox/NAME {"forward":"http://localhost:3000/hooks"}`;

/** A writer that adds a hint when it refuses plain http: how to forward to a receiver on this machine. */
export const withForwardHint = (writer: Writer): Writer => ({
  ...writer,
  problem({ status, code, message, details, headers }, request_id) {
    const hinted = (text: string) => text.replace(mustBeHttps, hint);
    const named = details?.map((detail) => ({ ...detail, message: hinted(detail.message) }));
    return writer.problem({ status, code, message: hinted(message), details: named, headers }, request_id);
  },
});
