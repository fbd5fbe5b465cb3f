import * as v from "valibot";
import { parseAllow } from "../../drivers/outbound/address-policy.ts";
import { parseRange } from "../../kernel/text/ip-address.ts";
import { networksOf } from "../../kernel/trusted-networks.ts";
import { checkedText, group, option } from "./option-types.ts";

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

const network = checkedText(
  (text) => parseRange(text) !== undefined,
  "must be a network such as 172.16.0.0/12 or fd00::/8",
);

export const trustNetwork = option(
  v.pipe(
    v.array(network, "must be a list"),
    v.transform((names) => networksOf(names)),
  ),
  {
    default: [],
    help: "Networks whose machines are trusted like this one, such as the container network of a test: the control interface answers them without a key, and inboxes and webhooks may send to them over plain http (`dev`).",
    flag: "trust-network",
    value: "CIDR,…",
    mode: "dev",
  },
);

export const outbound = group({
  allow: option(v.array(allowed, "must be a list"), {
    default: [],
    help: "Addresses that are not public but may receive outbound requests: CIDRs and `host:port`. Link-local and metadata addresses are always refused.",
  }),
  send: option(v.boolean(), {
    help: "Send deliveries to public addresses too. Without it, the inbox catches them and answers 200 (`dev`).",
    example: "true",
    flag: "send",
    mode: "dev",
  }),
});
