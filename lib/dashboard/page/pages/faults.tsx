import { control, type StoredFault } from "../control.ts";
import { Field, Select } from "../controls.tsx";
import { Form, filled } from "../forms/form.tsx";
import { numberOf } from "../forms/json-form.tsx";
import type { Change } from "../live.ts";
import { Rules } from "./rules.tsx";

const concerns = ({ kind }: Change) => kind === "instruments" || kind === "journal";

const examples: Readonly<Record<string, object>> = {
  "503 once": { match: { path: "/v1/*" }, respond: { status: 503 }, times: 1 },
  "429, wait 7 s": { match: { path: "/v1/*" }, respond: { status: 429, headers: { "retry-after": "7" } }, times: 1 },
  "2 s slow": { match: { path: "/v1/*" }, respond: { delay: "2s" } },
  "Connection drops": { match: { method: "POST", path: "/v1/*" }, respond: { drop: true }, times: 1 },
  "Answer lost": { match: { method: "POST", path: "/v1/*" }, respond: { truncate: true }, times: 1 },
};

export const FaultsPage = () => (
  <Rules
    noun="fault"
    read={control.faults}
    concerns={concerns}
    add={control.addFault}
    remove={control.removeFault}
    clear={control.clearFaults}
    examples={examples}
    json={examples["503 once"] ?? {}}
    form={<NewFault />}
    hint={
      <>
        A fault breaks answers of <code>/v1</code> on purpose: errors, delays, dropped connections. The dashboard is not
        affected.
      </>
    }
    empty="No fault: every call is answered as usual. Use an example above, or add your own."
    columns={columns}
    without={["Calls that it matches are answered as usual again.", "Every call is answered as usual again."]}
  />
);

const columns = {
  Calls: ({ match }: StoredFault) => (
    <span class="mono">
      {match.method ?? "any method"} {match.path ?? "any path"}
    </span>
  ),
  Answer: effectOf,
  Hits: ({ used, times, nth }: StoredFault) => (
    <>
      {used}
      {times !== null && ` of ${times}`}
      {nth !== null && <span class="hint"> from call {nth} on</span>}
    </>
  ),
};

function effectOf({ respond: { status, code, headers, delay, drop, truncate } }: StoredFault): string {
  const parts = [
    ...(status === undefined ? [] : [String(status)]),
    ...(code === undefined ? [] : [code]),
    ...(delay === undefined ? [] : [`after ${delay}`]),
    ...(drop ? ["the connection drops before any work"] : []),
    ...(truncate ? ["the work is done, and the answer breaks off"] : []),
    ...Object.entries(headers ?? {}).map(([name, value]) => `${name}: ${value}`),
  ];
  return parts.join(", ");
}

const empty = { method: "", path: "/v1/*", effect: "error", status: "503", code: "", delay: "", nth: "", times: "" };

function NewFault() {
  const add = ({ method, path, effect, status, code, delay, nth, times }: typeof empty) => {
    const respond = {
      ...(effect === "error" && { status: numberOf(status), ...filled({ code }) }),
      ...((effect === "drop" || effect === "truncate") && { [effect]: true }),
      ...filled({ delay }),
    };
    return control.addFault({ match: filled({ method, path }), respond, nth: numberOf(nth), times: numberOf(times) });
  };
  return (
    <Form label="New fault" submit="Add" kind="main" start={empty} run={add}>
      {({ effect }) => (
        <>
          <Select
            label="Method"
            options={["", "GET", "POST", "PUT", "PATCH", "DELETE"].map((one) => [one, one || "any"])}
          />
          <Field label="Path" hint="A glob for the whole path: /v1/projects/*" />
          <Select
            label="Effect"
            options={[
              ["error", "an error"],
              ["delay", "only a delay"],
              ["drop", "the connection drops before any work"],
              ["truncate", "the work is done, and the answer breaks off"],
            ]}
          />
          {effect === "error" && (
            <div class="pairs">
              <Field label="Status" />
              <Field label="Code" hint="Empty: the usual code for the status." />
            </div>
          )}
          <div class="pairs">
            <Field label="Delay" hint="Such as 2s." />
            <Field label="First call" name="nth" hint="Counted from 1." />
            <Field label="Times" hint="Empty: always." />
          </div>
        </>
      )}
    </Form>
  );
}
