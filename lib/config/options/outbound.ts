import * as v from "valibot";
import { parseAllow } from "../../drivers/outbound/allowed-addresses.ts";
import { option } from "./option-types.ts";

const allowed = v.pipe(
  v.string("must be a string"),
  v.rawCheck(({ dataset, addIssue }) => {
    try {
      if (dataset.typed) parseAllow([dataset.value]);
    } catch (error) {
      addIssue({ message: (error as Error).message });
    }
  }),
);

export const outbound = v.optional(
  v.strictObject({
    allow: v.optional(
      option(v.array(allowed, "must be a list"), {
        help: "Addresses that are not public but may receive outbound requests: CIDRs and `host:port`. Link-local and metadata addresses are always refused.",
      }),
      [],
    ),
    send: v.optional(
      option(v.boolean(), {
        help: "Send deliveries to public addresses too. Without it, the inbox catches them and answers 200 (`dev`).",
        flag: "send",
        mode: "dev",
      }),
    ),
  }),
  {},
);
