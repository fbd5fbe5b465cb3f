import * as v from "valibot";
import { parseAddress } from "../../kernel/text/ip-address.ts";
import { checkedText, group, option } from "./option-types.ts";

const server = checkedText((text) => {
  const [, bracketed, plain = text, port = "53"] = /^(?:\[(.+)\]|([\d.]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  // Node ends the process for port 0, and takes 65536 as 53.
  return parseAddress(bracketed ?? plain) !== undefined && Number(port) >= 1 && Number(port) <= 65_535;
}, "must be the address of a name server, such as 192.0.2.53 or [2001:db8::53]:5353");

export const domains = group({
  verify: option(v.boolean(), {
    help: "Whether a domain of an environment works only once the TXT record `_svc.<domain>` holds the token of its organization. Without this option, that is so in `start` with more than one organization.",
    example: "true",
  }),
  servers: option(v.array(server, "must be a list"), {
    default: [],
    help: "The addresses of the name servers to ask for these records, with or without a port. Without it, the name servers of the machine.",
  }),
});
