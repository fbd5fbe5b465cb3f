import { TimelineDock, TimelinePage } from "../timeline/timeline.tsx";
import { FaultsPage } from "./faults.tsx";
import { InboxPage } from "./inbox.tsx";
import { MailPage } from "./mail.tsx";
import { ScenariosPage } from "./scenarios.tsx";
import { SnapshotsPage } from "./snapshots.tsx";

/** The instruments of `dev`. */
export function Instruments({ feature }: { feature: string }) {
  switch (feature) {
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
