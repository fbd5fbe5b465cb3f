import { TimelineDock, TimelinePage } from "../timeline/timeline.tsx";
import { AuditLogPage } from "./audit-log.tsx";
import { DeliveryPage } from "./deliveries.tsx";
import { EventsPage } from "./events.tsx";
import { FaultsPage } from "./faults.tsx";
import { InboxPage } from "./inbox.tsx";
import { IntegrationPage, IntegrationsPage } from "./integrations.tsx";
import { KeysPage } from "./keys.tsx";
import { MailPage } from "./mail.tsx";
import { PeoplePage } from "./people.tsx";
import { RequestPage, RequestsPage } from "./requests.tsx";
import { ScenariosPage } from "./scenarios.tsx";
import { SnapshotsPage } from "./snapshots.tsx";
import { SystemPage } from "./system.tsx";
import { UsagePage } from "./usage.tsx";
import { WebhookPage, WebhooksPage } from "./webhooks.tsx";

/** The instruments of `dev`, and what few visits open. */
export function Instruments({ feature, id, part }: { feature: string; id?: string; part?: string }) {
  switch (feature) {
    case "webhooks":
      if (id && part) return <DeliveryPage family={feature} id={id} dlv={part} />;
      return id ? <WebhookPage id={id} /> : <WebhooksPage />;
    case "integrations":
      if (id && part) return <DeliveryPage family={feature} id={id} dlv={part} />;
      return id ? <IntegrationPage id={id} /> : <IntegrationsPage />;
    case "events":
      return <EventsPage />;
    case "requests":
      return id ? <RequestPage id={id} /> : <RequestsPage />;
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
export { outcomesOf } from "../timeline/outcomes.ts";
export { AskLoss, lossOf } from "../undo-loss.tsx";
export { undo } from "../undo-move.ts";
