import type { InboxSettings } from "../../../emulator/instruments/inbox.ts";
import type { Scenario } from "../../../features/scenarios/service.ts";
import type { Known } from "./recorded-before.ts";
import type { Json } from "./recorded-names.ts";
import type { Step } from "./recorded-test.ts";

/** The entries of a map, as JSON. */
type Entries<K, V> = readonly (readonly [K, V])[];

/** A recording: its beginning, and what it has noted so far. */
export interface Kept {
  readonly startedAt: number;
  readonly now: number;
  readonly scenarios: readonly Scenario[];
  readonly inboxes: readonly InboxSettings[];
  readonly steps: Step[];
  readonly needsSeed: boolean;
  readonly mails?: Entries<unknown, string>;
  readonly marks?: Entries<string, { readonly steps: number; readonly now: number }>;
  readonly seen?: Entries<string, Known>;
  readonly known?: Entries<string, Known>;
  readonly environments?: Entries<string, readonly Json[]>;
}
