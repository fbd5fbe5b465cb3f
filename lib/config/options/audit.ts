import { duration, group, option } from "./option-types.ts";

export const audit = group({
  retention: option(duration, {
    default: "365d",
    help: "How long an entry of the audit log is stored.",
    example: `"365d"`,
  }),
});
