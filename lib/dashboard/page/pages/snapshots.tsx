import { useState } from "preact/hooks";
import { control, type ListeningFork, type StoredSnapshot } from "../control.ts";
import { Action, Field, FormDialog, Select } from "../controls.tsx";
import { instantOf } from "../format-time.ts";
import { type Change, useRead } from "../live.ts";
import { Records } from "../parts.tsx";
import { loadingPage, Page, Section, Text } from "../ui.tsx";
import { Compare, titleOf } from "./compare.tsx";

const concerns = ({ kind }: Change) => kind === "instruments";

const sizeOf = (bytes: number) => (bytes < 1e6 ? `${Math.ceil(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`);

/** Snapshots of the whole state: take, restore, fork and compare them. */
export function SnapshotsPage() {
  const { data, error } = useRead(
    "snapshots",
    async () => ({ snapshots: await control.snapshots(), forks: await control.forks() }),
    concerns,
  );
  if (!data) return loadingPage("Snapshots", error);
  const snapshots = data.snapshots.toReversed();
  return (
    <Page
      title="Snapshots"
      actions={
        <>
          <TakeSnapshot />
          <FormDialog label="Reset" title="Reset the service?" kind="danger" run={control.reset}>
            <p>Everything since the start is lost. The state goes back to the seed; snapshots and forks stay.</p>
          </FormDialog>
        </>
      }
    >
      <Records
        of={snapshots}
        empty="No snapshot yet. A snapshot keeps the whole state: records, files, clock, pending work, inbox. Moving the clock below takes one automatically."
        head={["Snapshot", "Clock", "Size", ""]}
        wide={["Size"]}
        row={snapshotRow}
      />
      <Section title="Forks" actions={<NewFork snapshots={snapshots} />}>
        <Records
          of={data.forks}
          empty="No fork. A fork is an independent copy of the service, with its own port and dashboard."
          head={["Fork", "Clock", "From", "Deliveries", ""]}
          wide={["From"]}
          row={forkRow}
        />
      </Section>
      <Compare snapshots={snapshots} />
    </Page>
  );
}

function TakeSnapshot() {
  const [name, setName] = useState("");
  return (
    <FormDialog label="Take a snapshot" submit="Take" kind="main" run={() => control.snapshot(name.trim())}>
      <Field label="Name" value={name} onInput={setName} hint="Optional, such as: before the rollback." />
    </FormDialog>
  );
}

const snapshotRow = (of: StoredSnapshot) => (
  <tr key={of.id}>
    <td>
      {of.name !== null && <Text of={of.name} />} <span class="mono hint">{of.id}</span>
    </td>
    <td class="mono">{instantOf(of.now)}</td>
    <td class="wide">{sizeOf(of.bytes)}</td>
    <td class="end">
      <span class="row end">
        <FormDialog label="Restore" title="Restore this snapshot?" kind="danger" run={() => control.restore(of.id)}>
          <p>The service goes back to {instantOf(of.now)} UTC. Everything since then is lost.</p>
        </FormDialog>
        <Action run={() => control.fork({ from: of.id, muted: true })}>Fork</Action>
        <FormDialog
          label="Delete"
          title="Delete this snapshot?"
          kind="danger"
          run={() => control.removeSnapshot(of.id)}
        >
          <p>Nobody can go back to {instantOf(of.now)} UTC with it any more. What is there now stays.</p>
        </FormDialog>
      </span>
    </td>
  </tr>
);

function NewFork({ snapshots }: { readonly snapshots: readonly StoredSnapshot[] }) {
  const [from, setFrom] = useState("");
  const [sends, setSends] = useState("muted");
  const run = () => control.fork({ ...(from !== "" && { from }), muted: sends === "muted" });
  return (
    <FormDialog label="New fork" submit="Fork" run={run}>
      <Select
        label="From"
        value={from}
        options={[["", "now"], ...snapshots.map((one) => [one.id, titleOf(one)] as const)]}
        onChange={setFrom}
      />
      <Select
        label="Deliveries"
        value={sends}
        options={[
          ["muted", "stay in the fork, and count as received"],
          ["sent", "are sent as the service sends them"],
        ]}
        onChange={setSends}
      />
    </FormDialog>
  );
}

const forkRow = (of: ListeningFork) => (
  <tr key={of.id}>
    <td>
      <a href={`${of.url}/dashboard`} target="_blank" rel="noreferrer">
        {of.id} at {of.url}
      </a>
    </td>
    <td class="mono">{instantOf(of.now)}</td>
    <td class="mono wide">{of.from ?? "the present"}</td>
    <td data-label="deliveries">{of.muted ? "muted" : "sent"}</td>
    <td class="end">
      <FormDialog label="Delete" title="Delete this fork?" kind="danger" run={() => control.removeFork(of.id)}>
        <p>It stops listening at {of.url}, and all that happened in it is lost.</p>
      </FormDialog>
    </td>
  </tr>
);
