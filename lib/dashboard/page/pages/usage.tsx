import type { Answer } from "../../../client/typed-client.ts";
import { Bar } from "../chart.tsx";
import { Select } from "../controls.tsx";
import { dollars } from "../format-time.ts";
import { serviceNow, useCall } from "../live.ts";
import { Records } from "../parts.tsx";
import { place, setQuery } from "../router.ts";
import { Empty, Loading, Page, Section, Text } from "../ui.tsx";

const periods: readonly [string, string][] = [
  ["7", "Last 7 days"],
  ["30", "Last 30 days"],
  ["", "All time"],
];
const day_ms = 86_400_000;
type Row = Answer<"generations.usage">["data"][number];

/** Sums the rows of each model, or of each day. */
function summed(rows: readonly Row[], by: "model" | "date") {
  const sums = new Map<string, { count: number; usd: number }>();
  for (const row of rows) {
    const { count, usd } = sums.get(row[by]) ?? { count: 0, usd: 0 };
    sums.set(row[by], { count: count + row.generations, usd: usd + row.cost_usd });
  }
  return [...sums].map(([name, sum]) => ({ name, ...sum }));
}

export function UsagePage() {
  const days = place.value.query.get("days") ?? "30";
  const since = serviceNow() - (Number(days) - 1) * day_ms;
  const from = /^\d{1,4}$/.test(days) ? { from: new Date(since).toISOString().slice(0, 10) } : {};
  const { data, error } = useCall("generations.usage", from, "generation");
  return (
    <Page title="Costs of generations">
      <div class="filters">
        <Select
          label="Period"
          value={days === "all" ? "" : days}
          options={periods}
          onChange={(value) => setQuery({ days: value || "all" })}
        />
      </div>
      {!data && <Loading error={error} />}
      {data?.data.length === 0 && <Empty>Nothing finished in this time. A generation that fails costs nothing.</Empty>}
      {data && data.data.length > 0 && (
        <>
          <dl class="figures">
            <div>
              <dt>Cost</dt>
              <dd>{dollars(data.total.cost_usd)}</dd>
            </div>
            <div>
              <dt>Generations</dt>
              <dd>{data.total.generations}</dd>
            </div>
          </dl>
          <Section title="By day">
            <Sums of={summed(data.data, "date").sort((a, b) => b.name.localeCompare(a.name))} name="Day" />
          </Section>
          <Section title="By model">
            <Sums of={summed(data.data, "model").sort((a, b) => b.usd - a.usd)} name="Model" />
          </Section>
        </>
      )}
    </Page>
  );
}

function Sums({ of, name }: { of: ReturnType<typeof summed>; name: string }) {
  const total = of.reduce((sum, { usd }) => sum + usd, 0) || 1;
  return (
    <Records
      of={of}
      empty="Nothing."
      columns={{
        [name]: (one) => <Text of={one.name} />,
        Generations: ({ count }) => count,
        Cost: ({ usd }) => dollars(usd),
        Share: ({ usd }) => <Bar share={usd / total} />,
      }}
    />
  );
}
