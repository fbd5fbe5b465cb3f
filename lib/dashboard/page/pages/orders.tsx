import { useState } from "preact/hooks";
import { api } from "../api.ts";
import { control, type DeliveryOrder } from "../control.ts";
import { Action, Button, Select } from "../controls.tsx";
import { clockOf } from "../format-time.ts";
import { useRead } from "../live.ts";
import { Table } from "../parts.tsx";
import { type Family, readReceivers } from "../receiver-health.tsx";
import { Empty, Loading, Section, Status, Text } from "../ui.tsx";

/** Each order is delivered in its own fork; five deliveries have 120 orders. */
const maxChosen = 5;
const maxListed = 20;

interface Listed {
  readonly id: string;
  readonly event: string;
  readonly created_at: string;
  readonly to: string;
}

/** The newest deliveries of all endpoints, oldest first. */
async function readDeliveries(signal: AbortSignal): Promise<Listed[]> {
  const found = await readReceivers(signal);
  const some = (family: Family) => found.filter((one) => one.family === family).slice(0, maxListed);
  const receivers = [...some("webhooks"), ...some("integrations")];
  const lists = receivers.map(async ({ family, id: receiver, name: to }) => {
    const { data } = await api[family].deliveries({ id: receiver, per_page: maxListed }, { signal });
    return data.map(({ id, event, created_at }) => ({ id, event, created_at, to }));
  });
  const all = (await Promise.all(lists)).flat();
  return all.sort((one, other) => (one.id < other.id ? -1 : 1)).slice(-maxListed);
}

/** Delivers in every order, each order on its own fork, and shows whether the responses differ. */
export function EveryOrder() {
  const { data, error } = useRead("orders", readDeliveries, ({ kind }) => kind === "event" || kind === "delivery");
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [sends, setSends] = useState("sent");
  const [orders, setOrders] = useState<readonly DeliveryOrder[]>();
  const count = chosen.reduce((product, _, i) => product * (i + 1), 1);
  const toggle = (id: string, isOn: boolean) => setChosen(isOn ? [...chosen, id] : chosen.filter((one) => one !== id));
  return (
    <Section title="Every order">
      <p class="hint">
        Does a receiver bear deliveries that overtake each other? Choose two to five, and they are delivered in every
        order. Each order gets its own copy of the service, which is then thrown away. The receivers are not copied.
      </p>
      {!data && <Loading error={error} />}
      {data?.length === 0 && <Empty>No delivery yet. Create a webhook, then deploy something.</Empty>}
      {data && data.length > 0 && (
        <>
          <ul class="list" aria-label="Deliveries to order">
            {data.map(({ id, event, created_at, to }) => (
              <li key={id}>
                <label class="entry">
                  <input
                    type="checkbox"
                    checked={chosen.includes(id)}
                    disabled={chosen.length >= maxChosen && !chosen.includes(id)}
                    onChange={({ currentTarget }) => toggle(id, currentTarget.checked)}
                  />
                  <span class="mono">{clockOf(created_at)}</span>
                  <span>{event}</span>
                  <span class="hint">
                    <Text of={to.slice(0, 200)} /> <span class="mono">…{id.slice(-6)}</span>
                  </span>
                </label>
              </li>
            ))}
          </ul>
          <div class="row">
            <Select
              label="Deliveries"
              isBare
              value={sends}
              options={[
                ["sent", "are sent to the receivers"],
                ["muted", "stay in the copy, answered by script or 200"],
              ]}
              onChange={setSends}
            />
            <Action
              reason={chosen.length < 2 ? "Choose two to five deliveries." : undefined}
              run={async () => setOrders(await control.everyOrder(chosen, sends === "muted"))}
            >
              {chosen.length < 2 ? "Deliver in every order" : `Deliver in ${count} orders`}
            </Action>
            {orders && <Button onClick={() => setOrders(undefined)}>Forget</Button>}
          </div>
        </>
      )}
      {orders && <Matrix of={orders} deliveries={data ?? []} />}
    </Section>
  );
}

type Answer = DeliveryOrder["attempts"][number];
const textOf = ({ status, error }: Answer) => String(status ?? error ?? "no answer yet");
const stateOf = ({ status, error }: Answer) =>
  status === null && error === null
    ? "pending"
    : status !== null && status >= 200 && status < 300
      ? "succeeded"
      : "failed";

/** A row for each order, a column for each delivery: its position in the order and its response. */
function Matrix({ of, deliveries }: { of: readonly DeliveryOrder[]; deliveries: readonly Listed[] }) {
  const [first] = of;
  if (!first) return null;
  const nameOf = (id: string) => `${deliveries.find((one) => one.id === id)?.event ?? ""} …${id.slice(-6)}`;
  const answersOf = ({ attempts }: DeliveryOrder) =>
    first.order
      .map((id) => attempts.findIndex((one) => one.delivery_id === id))
      .map((at) => ({ at, of: attempts[at] }));
  const usual = answersOf(first).map((one) => one.of && textOf(one.of));
  const rows = of.map((order, i) => {
    const answers = answersOf(order);
    const differs = answers.map((one, column) => one.of !== undefined && textOf(one.of) !== usual[column]);
    return { number: i + 1, answers, differs };
  });
  const different = rows.filter(({ differs }) => differs.includes(true)).length;
  return (
    <>
      <p role="status">
        {different === 0
          ? `All ${of.length} orders got the same answers.`
          : `${different} of ${of.length} orders got different answers from the first.`}
      </p>
      <Table head={["Order", ...first.order.map(nameOf)]} kind="matrix">
        {rows.map(({ number, answers, differs }) => (
          <tr key={number}>
            <th scope="row">{number}</th>
            {answers.map(({ at, of: answer }, column) => (
              <td key={first.order[column]} class={differs[column] ? "differs" : undefined}>
                {answer && (
                  <span class="row">
                    <span class="hint">{at + 1}.</span>
                    <Status of={stateOf(answer)} />
                    <Text of={textOf(answer).slice(0, 200)} />
                    {differs[column] && <strong>differs</strong>}
                  </span>
                )}
              </td>
            ))}
          </tr>
        ))}
      </Table>
    </>
  );
}
