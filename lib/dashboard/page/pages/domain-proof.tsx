import type { Environment } from "../../../client/generated/records.ts";
import { Text } from "../ui.tsx";

/** The DNS record that a domain still needs; empty once the domain serves. */
export function DomainProof({ of }: { of: NonNullable<Environment["domain_status"]>[number] | undefined }) {
  if (of?.status !== "pending") return null;
  return (
    <div class="hint">
      Waiting for the TXT record <Text of={of.record} /> with the value <Text of={of.token} />
    </div>
  );
}
