import { useState } from "preact/hooks";
import { control, type StoredFault } from "../control.ts";
import { Action, Field, FormDialog, Select } from "../controls.tsx";
import { filled, JsonForm, numberOf } from "../forms/json-form.tsx";
import { type Change, useRead } from "../live.ts";
import { Records } from "../parts.tsx";
import { Page, Section } from "../ui.tsx";

const concerns = ({ kind }: Change) => kind === "instruments" || kind === "journal";

const examples: Readonly<Record<string, object>> = {
  "503 once": { match: { path: "/v1/*" }, respond: { status: 503 }, times: 1 },
  "429, wait 7 s": { match: { path: "/v1/*" }, respond: { status: 429, headers: { "retry-after": "7" } }, times: 1 },
  "2 s slow": { match: { path: "/v1/*" }, respond: { delay: "2s" } },
  "Connection drops": { match: { method: "POST", path: "/v1/*" }, respond: { drop: true }, times: 1 },
  "Answer lost": { match: { method: "POST", path: "/v1/*" }, respond: { truncate: true }, times: 1 },
};

export function FaultsPage() {
  const { data, error } = useRead("faults", control.faults, concerns);
  const isEmpty = data?.length === 0;
  return (
    <Page
      title="Faults"
      actions={
        <>
          <NewFault />
          <JsonForm label="Add JSON" start={examples["503 once"] ?? {}} run={control.addFault} />
          <FormDialog
            label="Remove all"
            title="Remove all faults?"
            kind="danger"
            reason={isEmpty ? "There is no fault." : undefined}
            run={control.clearFaults}
          >
            <p>Every call is answered as usual again.</p>
          </FormDialog>
        </>
      }
    >
      <p class="hint">
        A fault breaks answers of <code>/v1</code> on purpose: errors, delays, dropped connections. The dashboard is not
        affected.
      </p>
      <Section title="Examples">
        <div class="row">
          {Object.entries(examples).map(([name, fault]) => (
            <Action key={name} run={() => control.addFault(fault)}>
              {name}
            </Action>
          ))}
        </div>
      </Section>
      <Records
        of={data}
        error={error}
        empty="No fault: every call is answered as usual. Use an example above, or add your own."
        columns={faultColumns}
      />
    </Page>
  );
}

const faultColumns = {
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
  "": ({ id }: StoredFault) => (
    <FormDialog label="Remove" title="Remove this fault?" kind="danger" run={() => control.removeFault(id)}>
      <p>Calls that it matches are answered as usual again.</p>
    </FormDialog>
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

const effects = ["error", "delay", "drop", "truncate"] as const;

function NewFault() {
  const [method, setMethod] = useState("");
  const [path, setPath] = useState("/v1/*");
  const [effect, setEffect] = useState<(typeof effects)[number]>("error");
  const [status, setStatus] = useState("503");
  const [code, setCode] = useState("");
  const [delay, setDelay] = useState("");
  const [nth, setNth] = useState("");
  const [times, setTimes] = useState("");
  const add = () =>
    control.addFault({
      match: filled({ method, path }),
      respond: {
        ...(effect === "error" && { status: numberOf(status), ...filled({ code }) }),
        ...((effect === "drop" || effect === "truncate") && { [effect]: true }),
        ...filled({ delay }),
      },
      nth: numberOf(nth),
      times: numberOf(times),
    });
  return (
    <FormDialog label="New fault" submit="Add" kind="main" run={add}>
      <Select
        label="Method"
        value={method}
        options={[["", "any"], ...["GET", "POST", "PUT", "PATCH", "DELETE"].map((one) => [one, one] as const)]}
        onChange={setMethod}
      />
      <Field label="Path" value={path} onInput={setPath} hint="A glob for the whole path: /v1/projects/*" />
      <Select
        label="Effect"
        value={effect}
        options={[
          ["error", "an error"],
          ["delay", "only a delay"],
          ["drop", "the connection drops before any work"],
          ["truncate", "the work is done, and the answer breaks off"],
        ]}
        onChange={(value) => setEffect(value as typeof effect)}
      />
      {effect === "error" && (
        <div class="pairs">
          <Field label="Status" value={status} onInput={setStatus} />
          <Field label="Code" value={code} onInput={setCode} hint="Empty: the usual code for the status." />
        </div>
      )}
      <div class="pairs">
        <Field label="Delay" value={delay} onInput={setDelay} hint="Such as 2s." />
        <Field label="First call" value={nth} onInput={setNth} hint="Counted from 1." />
        <Field label="Times" value={times} onInput={setTimes} hint="Empty: always." />
      </div>
    </FormDialog>
  );
}
