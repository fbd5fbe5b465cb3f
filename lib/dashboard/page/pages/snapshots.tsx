import { session } from "../api.ts";
import { control, type ListeningFork, type StoredSnapshot } from "../control.ts";
import { Action, Field, FormDialog, Select } from "../controls.tsx";
import { instantOf } from "../format-time.ts";
import { Form, filled } from "../forms/form.tsx";
import { type Change, useRead } from "../live.ts";
import { Records } from "../parts.tsx";
import { loadingPage, Page, Section, Text } from "../ui.tsx";
import { Compare, Lost, titleOf } from "./compare.tsx";

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
            <p>
              The state goes back to what it was when the service started, at{" "}
              {instantOf(session.value?.started_at ?? "")} UTC. Everything since then is lost; snapshots and forks stay.
            </p>
          </FormDialog>
        </>
      }
    >
      <Records
        of={snapshots}
        empty="No snapshot yet. A snapshot keeps the whole state: records, files, clock, pending work, inbox. Moving the clock below takes one automatically."
        columns={snapshotColumns}
      />
      <Section title="Forks" actions={<NewFork snapshots={snapshots} />}>
        <Records
          of={data.forks}
          empty="No fork. A fork is an independent copy of the service, with its own port and dashboard."
          columns={forkColumns}
        />
      </Section>
      <Compare snapshots={snapshots} />
    </Page>
  );
}

const TakeSnapshot = () => (
  <Form
    label="Take a snapshot"
    submit="Take"
    kind="main"
    start={{ name: "" }}
    run={({ name }) => control.snapshot(name.trim())}
  >
    <Field label="Name" hint="Optional, such as: before the rollback." />
  </Form>
);

const snapshotColumns = {
  Snapshot: ({ id, name }: StoredSnapshot) => (
    <>
      {name !== null && <Text of={name} />} <span class="mono hint">{id}</span>
    </>
  ),
  Clock: ({ now }: StoredSnapshot) => <span class="mono">{instantOf(now)}</span>,
  Size: ({ bytes }: StoredSnapshot) => sizeOf(bytes),
  "": ({ id, now }: StoredSnapshot) => (
    <span class="row end">
      <FormDialog label="Restore" title="Restore this snapshot?" kind="danger" run={() => control.restore(id)}>
        <p>The service goes back to {instantOf(now)} UTC. Everything since then is lost.</p>
        <Lost since={id} />
      </FormDialog>
      <Action run={() => control.fork({ from: id, muted: true })}>Fork</Action>
      <FormDialog label="Delete" title="Delete this snapshot?" kind="danger" run={() => control.removeSnapshot(id)}>
        <p>Nobody can go back to {instantOf(now)} UTC with it any more. What is there now stays.</p>
      </FormDialog>
    </span>
  ),
};

const NewFork = ({ snapshots }: { snapshots: readonly StoredSnapshot[] }) => (
  <Form
    label="New fork"
    submit="Fork"
    start={{ from: "", deliveries: "muted" }}
    run={({ from, deliveries }) => control.fork({ ...filled({ from }), muted: deliveries === "muted" })}
  >
    <Select label="From" options={[["", "now"], ...snapshots.map((one) => [one.id, titleOf(one)] as const)]} />
    <Select
      label="Deliveries"
      options={[
        ["muted", "stay in the fork, and count as received"],
        ["sent", "are sent as the service sends them"],
      ]}
    />
  </Form>
);

const forkColumns = {
  Fork: ({ id, url }: ListeningFork) => (
    <a class="out" href={`${url}/dashboard`} target="_blank" rel="noreferrer">
      {id} at {url}
    </a>
  ),
  Clock: ({ now }: ListeningFork) => <span class="mono">{instantOf(now)}</span>,
  From: ({ from }: ListeningFork) => <span class="mono">{from ?? "the present"}</span>,
  Deliveries: ({ muted }: ListeningFork) => (muted ? "muted" : "sent"),
  "": ({ id }: ListeningFork) => (
    <FormDialog label="Delete" title="Delete this fork?" kind="danger" run={() => control.removeFork(id)}>
      <p>It stops listening, and all that happened in it is lost.</p>
    </FormDialog>
  ),
};
