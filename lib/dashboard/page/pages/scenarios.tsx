import { control, type Scenario } from "../control.ts";
import { Field, Select } from "../controls.tsx";
import { dollars } from "../format-time.ts";
import { Form, filled } from "../forms/form.tsx";
import { numberOf } from "../forms/json-form.tsx";
import type { Change } from "../live.ts";
import { Text } from "../ui.tsx";
import { Rules } from "./rules.tsx";

const concerns = ({ kind }: Change) => kind === "instruments" || kind === "deployment" || kind === "generation";

const fields = {
  deployment: ["branch", "repo", "tag", "image_url", "environment"],
  generation: ["model", "prompt"],
} as const;
type Kind = keyof typeof fields;

const example = {
  match: { branch: "release-*" },
  outcome: {
    result: "fail",
    at: "building",
    message: "npm test ended with 1",
    durations: { building: "2m" },
    logs: [{ level: "error", message: "1 test failed" }],
  },
  times: 1,
};

const examples: Readonly<Record<string, object>> = {
  "Build fails once": { next: "deployment", outcome: { result: "fail", at: "building" } },
  "Health check fails once": { next: "deployment", outcome: { result: "fail", at: "health_check" } },
  "Build takes 10 min once": { next: "deployment", outcome: { durations: { building: "10m" } } },
  "Generation fails once": { next: "generation", outcome: { result: "fail" } },
};

export const ScenariosPage = () => (
  <Rules
    noun="scenario"
    read={control.scenarios}
    concerns={concerns}
    add={control.addScenario}
    remove={control.removeScenario}
    clear={control.clearScenarios}
    examples={examples}
    json={example}
    form={<NewScenario />}
    hint="A scenario decides how simulated work ends. The first that matches wins."
    empty="No scenario. Simulated work succeeds in its usual time. Add one that fails the builds of a branch, or rolls back the next deployment."
    columns={columns}
    without={["Work that it matches ends as usual again.", "Simulated work succeeds in its usual time again."]}
  />
);

const columns = {
  Matches: (of: Scenario) => <Match of={of} />,
  Outcome: (of: Scenario) => <Outcome of={of} />,
  Used: ({ used, times }: Scenario) => (
    <>
      {used}
      {times !== null && ` of ${times}`}
      {used === 0 && <span class="hint"> not yet</span>}
    </>
  ),
};

function Match({ of: { match, next } }: { of: Scenario }) {
  if (next !== null) return <>the next {next}</>;
  const globs = Object.entries(match);
  if (globs.length === 0) return <>all simulated work</>;
  return (
    <>
      {globs.map(([name, glob]) => (
        <div key={name}>
          {name} <code class="text">{glob}</code>
        </div>
      ))}
    </>
  );
}

function Outcome({ of: { outcome } }: { of: Scenario }) {
  const { result = "succeed", at, message, pace, durations = {}, logs, cost_usd } = outcome;
  const parts = [
    ...Object.entries(durations).map(([state, length]) => `${state} ${length}`),
    ...(pace && pace !== "timed" ? [`pace ${pace}`] : []),
    ...(logs ? [`${logs.length} log lines`] : []),
    ...(cost_usd === undefined ? [] : [`costs ${dollars(cost_usd)}`]),
  ];
  return (
    <>
      {result.replaceAll("_", " ")}
      {at && ` at ${at.replaceAll("_", " ")}`}
      {message && (
        <>
          : <Text of={message.slice(0, 200)} />
        </>
      )}
      {parts.length > 0 && <div class="hint">{parts.join(" · ")}</div>}
    </>
  );
}

type Values = Readonly<Record<string, string>>;
const empty: Values = { for: "match deployment", result: "fail", at: "building", pace: "timed" };
const states = {
  deployment: ["queued", "building", "deploying"],
  generation: ["queued", "in_progress"],
} as const;
/** The field of a length, by which errors find it. */
const lengthOf = (state: string) => `durations.${state}`;

function NewScenario() {
  const add = ({ for: target = "", result, at, message = "", pace, times = "", ...others }: Values) => {
    const [scope, kind] = target.split(" ") as ["match" | "next", Kind];
    const durations = filled(Object.fromEntries(states[kind].map((state) => [state, others[lengthOf(state)] ?? ""])));
    const outcome = {
      result,
      ...(result === "fail" && kind === "deployment" && { at }),
      ...filled({ message }),
      ...(Object.keys(durations).length > 0 && { durations }),
      ...(pace !== "timed" && { pace }),
    };
    if (scope === "next") return control.addScenario({ next: kind, outcome });
    const match = filled(Object.fromEntries(fields[kind].map((name) => [name, others[name] ?? ""])));
    return control.addScenario({ match, outcome, times: numberOf(times) });
  };
  return (
    <Form label="New scenario" submit="Add" kind="main" start={empty} run={add}>
      {(values, set) => <ScenarioFields values={values} set={set} />}
    </Form>
  );
}

function ScenarioFields({ values, set }: { values: Values; set: (changes: Values) => void }) {
  const { for: target = "", result } = values;
  const [scope, kind] = target.split(" ") as ["match" | "next", Kind];
  const results = kind === "deployment" ? ["fail", "succeed", "rolled_back"] : ["fail", "succeed"];
  const worded = (words: readonly string[]) => words.map((one) => [one, one.replace("_", " ")] as const);
  return (
    <>
      <Select
        label="For"
        options={[
          ["match deployment", "deployments that match"],
          ["next deployment", "the next deployment"],
          ["match generation", "generations that match"],
          ["next generation", "the next generation"],
        ]}
        onChange={(to) =>
          set({ for: to, ...(to.endsWith("generation") && result === "rolled_back" && { result: "fail" }) })
        }
      />
      {scope === "match" && (
        <fieldset class="pairs">
          <legend>Matches, where * is any text</legend>
          {fields[kind].map((name) => (
            <Field key={name} label={name} />
          ))}
        </fieldset>
      )}
      <Select label="Result" options={worded(results)} />
      {result === "fail" && kind === "deployment" && (
        <Select label="At" options={worded(["building", "deploying", "health_check"])} />
      )}
      {result !== "succeed" && <Field label="Message" />}
      <fieldset class="pairs">
        <legend>Durations, such as 30s</legend>
        {states[kind].map((state) => (
          <Field key={state} label={state} name={lengthOf(state)} />
        ))}
      </fieldset>
      <Select
        label="Pace"
        options={[
          ["timed", "as time passes"],
          ["instant", "immediately"],
          ["polls", "one state per GET"],
          ["manual", "one state each time you step"],
        ]}
      />
      {scope === "match" && <Field label="Times" hint="Empty: always." />}
    </>
  );
}
