import { type Comparison, control, type StoredSnapshot } from "../control.ts";
import { Select } from "../controls.tsx";
import { type Change, useRead } from "../live.ts";
import { Ref, Table } from "../parts.tsx";
import { place, setQuery } from "../router.ts";
import { Empty, Loading, Section, Text } from "../ui.tsx";

/** The title of a snapshot in lists. */
export const titleOf = ({ id, name }: StoredSnapshot) => (name === null ? id : `${name} (${id})`);

const concerns = ({ kind }: Change) => kind !== "log" && kind !== "journal";

/** Shows which records differ between two states. */
export function Compare({ snapshots }: { snapshots: readonly StoredSnapshot[] }) {
  const from = place.value.query.get("from") ?? "";
  const to = place.value.query.get("to") ?? "";
  const options = snapshots.map((one) => [one.id, titleOf(one)] as const);
  const isKnown = snapshots.some(({ id }) => id === from);
  return (
    <Section title="Compare">
      <div class="filters">
        <Select
          label="From"
          value={from}
          options={[["", "choose a snapshot"], ...options]}
          onChange={(id) => setQuery({ from: id })}
        />
        <Select label="To" value={to} options={[["", "now"], ...options]} onChange={(id) => setQuery({ to: id })} />
      </div>
      {isKnown && <Result key={`${from} ${to}`} from={from} to={to} />}
    </Section>
  );
}

function Result({ from, to }: { from: string; to: string }) {
  const { data, error } = useRead(`compare ${from} ${to}`, () => control.compare(from, to), concerns);
  if (!data || error) return <Loading error={error} />;
  if (data.changes.length === 0) return <Empty>No record differs.</Empty>;
  return <Differences of={data} />;
}

/** What a restore takes away, by kind. */
export function Lost({ since }: { since: string }) {
  const { data } = useRead(`compare ${since}`, () => control.compare(since, ""), concerns);
  if (!data) return null;
  return data.changes.length === 0 ? <p>No record has changed since.</p> : <Counts of={data} />;
}

const Counts = ({ of }: { of: Comparison }) => (
  <p class="facts">
    {Object.entries(of.counts).map(([type, count]) => (
      <span key={type}>
        {type.replaceAll("_", " ")}: {partsOf(count).join(", ")}
      </span>
    ))}
  </p>
);

const sum = (of: Comparison) =>
  Object.values(of.counts).reduce((all, { added, changed, removed }) => all + added + changed + removed, 0);

const partsOf = (count: Comparison["counts"][string]) =>
  Object.entries(count).flatMap(([change, number]) => (number === 0 ? [] : [`${number} ${change}`]));

const hues = { added: "good", changed: "", removed: "bad" } as const;
const marks = { added: "+", changed: "~", removed: "−" } as const;

function Differences({ of }: { of: Comparison }) {
  return (
    <>
      <Counts of={of} />
      <Table kind="differences" head={["Change", "Record", "Fields"]}>
        {of.changes.slice(0, 200).map(({ change, type, id, fields }) => (
          <tr key={`${type} ${id}`}>
            <td class={hues[change]}>
              {marks[change]} {change}
            </td>
            <td>
              {type.replaceAll("_", " ")} {change === "removed" ? <span class="mono hint">{id}</span> : <Ref of={id} />}
            </td>
            <td>
              {change === "changed" ? (
                Object.entries(fields).map(([name, value]) => (
                  <div key={name}>
                    {name}: <del>{textOf(value.from)}</del> → <ins>{textOf(value.to)}</ins>
                  </div>
                ))
              ) : (
                <Text of={summaryOf(fields, change === "added" ? "to" : "from")} />
              )}
            </td>
          </tr>
        ))}
      </Table>
      {sum(of) > 200 && <p class="hint">The first 200 of {sum(of)} are shown.</p>}
    </>
  );
}

const textOf = (value: string | number | null) => (value === null ? "null" : String(value).slice(0, 200));

/** The fields that identify the record, if it has any. */
function summaryOf(fields: Comparison["changes"][number]["fields"], side: "from" | "to"): string {
  const names = ["name", "event", "email", "status", "environment", "recipient", "subject", "error"];
  return names.flatMap((name) => (fields[name]?.[side] == null ? [] : [textOf(fields[name][side])])).join(" · ");
}
