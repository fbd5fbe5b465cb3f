import * as v from "valibot";
import { duration, option } from "./option-types.ts";

export const audit = v.optional(
  v.strictObject({
    retention: v.optional(
      option(duration, { help: "How long an entry of the audit log is stored.", example: `"365d"` }),
      "365d",
    ),
  }),
  {},
);
