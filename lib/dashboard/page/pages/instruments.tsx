import { TimelineDock, TimelinePage } from "../timeline/timeline.tsx";
import { AuditLogPage } from "./audit-log.tsx";
import { FaultsPage } from "./faults.tsx";
import { InboxPage } from "./inbox.tsx";
import { KeysPage } from "./keys.tsx";
import { MailPage } from "./mail.tsx";
import { PeoplePage } from "./people.tsx";
import { ScenariosPage } from "./scenarios.tsx";
import { SnapshotsPage } from "./snapshots.tsx";
import { SystemPage } from "./system.tsx";
import { UsagePage } from "./usage.tsx";

/** The instruments of `dev`, and what few visits open. */
export function Instruments({ feature }: { feature: string }) {
  switch (feature) {
    case "people":
      return <PeoplePage />;
    case "keys":
      return <KeysPage />;
    case "audit-log":
      return <AuditLogPage />;
    case "usage":
      return <UsagePage />;
    case "system":
      return <SystemPage />;
    case "timeline":
      return <TimelinePage />;
    case "inbox":
      return <InboxPage />;
    case "mail":
      return <MailPage />;
    case "scenarios":
      return <ScenariosPage />;
    case "faults":
      return <FaultsPage />;
    case "dock":
      return <TimelineDock />;
    default:
      return <SnapshotsPage />;
  }
}
