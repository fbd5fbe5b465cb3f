import { publishedText } from "../lib/composition/openapi/service.ts";
import { UsageError } from "./arguments.ts";
import { command, option } from "./define-command.ts";

export const openapi = command(
  "openapi",
  "It is the document that a server has at /v1/openapi.json.",
  { envelope: option("The form of answers, flat or full (flat).", "FORM") },
  (args) => {
    const envelope = args["envelope"] ?? "flat";
    if (envelope !== "flat" && envelope !== "full") throw new UsageError("option --envelope must be flat or full");
    process.stdout.write(publishedText(envelope));
  },
);
