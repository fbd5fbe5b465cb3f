import { choices, durationLimits_s, parseInputs } from "../../../features/generations/inputs.ts";

import { costOf, builtIn as models, usdOf } from "../../../features/generations/price-list.ts";
import { api } from "../api.ts";
import { Field, Select } from "../controls.tsx";
import { dollars } from "../format-time.ts";
import { refusal } from "../permissions.ts";
import { go } from "../router.ts";
import { Area, Form, filled } from "./form.tsx";

const labels: Readonly<Record<keyof (typeof choices)["image"], string>> = {
  aspect_ratio: "Aspect ratio",
  resolution: "Resolution",
  output_format: "Format",
};
const listed = ["aspect_ratio", "resolution", "output_format"] as const;
const named = ["model", "prompt", ...listed, "seed", "duration"];
const empty = {
  model: models[0]?.id ?? "",
  prompt: "",
  aspect_ratio: "",
  resolution: "",
  output_format: "",
  seed: "",
  duration: "",
  more: "",
};
type Values = typeof empty;

/** The inputs that the form sends. A model that the page does not know may take any inputs. */
function inputsOf({ more, seed, duration, model, ...texts }: Values): { model: string } & Record<string, unknown> {
  const numbers = Object.entries(filled({ seed, duration })).map(([name, text]) => [name, Number(text)]);
  const others: unknown = more.trim() === "" ? {} : JSON.parse(more);
  if (typeof others !== "object" || others === null || Array.isArray(others))
    throw new TypeError('Other inputs must be an object, such as {"steps": 20}');
  return { ...others, ...filled(texts), ...Object.fromEntries(numbers), model: model.trim() };
}

/** The form values for the inputs of a generation. */
function valuesOf(input: Readonly<Record<string, unknown>>): Values {
  const own = Object.entries(input).filter(([name]) => named.includes(name));
  const others = Object.entries(input).filter(([name]) => !named.includes(name));
  return {
    ...empty,
    ...(Object.fromEntries(own.map(([name, value]) => [name, String(value)])) as Partial<Values>),
    more: others.length > 0 ? JSON.stringify(Object.fromEntries(others), null, 2) : "",
  };
}

/** The button and the form for a new generation, optionally with the inputs of an earlier one. */
export function NewGeneration({ input }: { input?: Readonly<Record<string, unknown>> }) {
  return (
    <Form
      label={input ? "Run again" : "New generation"}
      kind="main"
      submit="Start"
      reason={refusal("generations:write")}
      start={input ? valuesOf(input) : empty}
      run={async (values) => {
        const made = await api.generations.create(inputsOf(isFilm(values) ? values : { ...values, duration: "" }));
        go(`/generations/${made.id}`);
      }}
    >
      {(values) => <Inputs of={values} />}
    </Form>
  );
}

const knownOf = ({ model }: Values) => models.find(({ id }) => id === model.trim());
function isFilm(values: Values): boolean {
  const known = knownOf(values);
  return known ? known.kind === "video" : /video/i.test(values.model);
}

function Inputs({ of: values }: { of: Values }) {
  const known = knownOf(values);
  return (
    <>
      <Field
        label="Model"
        list={models.map(({ id }) => id)}
        hint={known ? known.summary : "An unknown model takes any inputs."}
        required
      />
      <Area label="Prompt" required={known !== undefined} />
      <div class="pair">
        {listed.map((name) => {
          const words: readonly string[] | undefined = known && choices[known.kind][name];
          const options = words?.map((word): [string, string] => [word, word]);
          return options ? (
            <Select key={name} label={labels[name]} name={name} options={[["", "default"], ...options]} />
          ) : (
            <Field key={name} label={labels[name]} name={name} />
          );
        })}
        {isFilm(values) && (
          <Field
            label="Seconds"
            name="duration"
            hint={`${durationLimits_s.least} to ${durationLimits_s.most}; 2 if empty`}
          />
        )}
        <Field label="Seed" hint="The same seed makes the same file." />
      </div>
      {!known && <Area label="Other inputs" name="more" rows={3} hint='JSON, such as {"steps": 20}' />}
      {known && <p class="hint">{`It costs ${dollars(priceOf(values))} if it succeeds.`}</p>}
    </>
  );
}

function priceOf(values: Values): number {
  const model = knownOf(values);
  if (!model) return 0;
  const { seed, duration, ...texts } = values;
  const numbers = { ...(seed && { seed: Number(seed) }), ...(duration && { duration: Number(duration) }) };
  return usdOf(costOf(model.price, parseInputs(model.kind, { ...filled(texts), ...numbers })));
}
