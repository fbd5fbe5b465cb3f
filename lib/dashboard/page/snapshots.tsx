import { useState } from "preact/hooks";
import { Compare } from "./compare.tsx";
import { control, type ListeningFork, type StoredSnapshot } from "./control.ts";
import { Action, Field, FormDialog, Select } from "./controls.tsx";
import { type Hint, useRead } from "./live.ts";
import { instantOf } from "./time.ts";
import { Empty, Loading, Page, Section, Text } from "./ui.tsx";

const concerns = ({ kind }: Hint) => kind === "instruments";

const sizeOf = (bytes: number) => (bytes < 1e6 ? `${Math.ceil(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`);
export const titleOf = ({ id, name }: StoredSnapshot) => (name === null ? id : `${name} (${id})`);

/** Whole states: kept, brought back, copied, compared. */
export function SnapshotsPage() {
  const { data, error } = useRead(
    "snapshots",
    async () => ({ snapshots: await control.snapshots(), forks: await control.forks() }),
    concerns,
  );
  if (!data) {
    return (
      <Page title="Snapshots">
        <Loading error={error} />
      </Page>
    );
  }
  const snapshots = data.snapshots.toReversed();
  return (
    <Page
      title="Snapshots"
      actions={
        <>
          <TakeSnapshot />
          <FormDialog label="Reset" kind="danger" submit="Reset" run={control.reset}>
            <p>Everything since the start is gone. The state goes back to the seed; snapshots and forks stay.</p>
          </FormDialog>
        </>
      }
    >
      {snapshots.length === 0 ? (
        <Empty>
          No snapshot yet. A snapshot keeps the whole state: records, files, clock, pending work, inbox. Moving the
          clock below takes one by itself.
        </Empty>
      ) : (
        <Snapshots of={snapshots} />
      )}
      <Section title="Forks" actions={<NewFork snapshots={snapshots} />}>
        {data.forks.length === 0 ? (
          <Empty>No fork. A fork is an independent copy of the service on a port of its own, with a dashboard.</Empty>
        ) : (
          <Forks of={data.forks} />
        )}
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

const Snapshots = ({ of }: { readonly of: readonly StoredSnapshot[] }) => (
  <div class="table-place">
    <table class="rows">
      <thead>
        <tr>
          <th scope="col">Snapshot</th>
          <th scope="col">Clock</th>
          <th scope="col" class="wide">
            Size
          </th>
          <th scope="col" class="end">
            <span class="unseen">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {of.map((one) => (
          <tr key={one.id}>
            <td>
              {one.name !== null && <Text of={one.name} />} <span class="mono hint">{one.id}</span>
            </td>
            <td class="mono">{instantOf(one.now)}</td>
            <td class="wide">{sizeOf(one.bytes)}</td>
            <td class="end">
              <span class="row end">
                <FormDialog label="Restore" submit="Restore" run={() => control.restore(one.id)}>
                  <p>The service goes back to {instantOf(one.now)} UTC. What happened since then is gone.</p>
                </FormDialog>
                <Action run={() => control.fork({ from: one.id, muted: true })}>Fork</Action>
                <Action kind="danger" run={() => control.removeSnapshot(one.id)}>
                  Delete
                </Action>
              </span>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
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

const Forks = ({ of }: { readonly of: readonly ListeningFork[] }) => (
  <div class="table-place">
    <table class="rows">
      <thead>
        <tr>
          <th scope="col">Fork</th>
          <th scope="col">Clock</th>
          <th scope="col" class="wide">
            From
          </th>
          <th scope="col">Deliveries</th>
          <th scope="col" class="end">
            <span class="unseen">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {of.map((one) => (
          <tr key={one.id}>
            <td>
              <a href={`${one.url}/dashboard`} target="_blank" rel="noreferrer">
                {one.id} at {one.url}
              </a>
            </td>
            <td class="mono">{instantOf(one.now)}</td>
            <td class="mono wide">{one.from ?? "the present"}</td>
            <td>{one.muted ? "muted" : "sent"}</td>
            <td class="end">
              <Action kind="danger" run={() => control.removeFork(one.id)}>
                Delete
              </Action>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);
