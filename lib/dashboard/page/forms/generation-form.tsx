import { choices, durationLimits_s, parseInputs } from "../../../features/generations/inputs.ts";

import { costOf, builtIn as models, usdOf } from "../../../features/generations/price-list.ts";
import { api } from "../api.ts";
import { Field, FormDialog, Select } from "../controls.tsx";
import { dollars } from "../format-time.ts";
import { refusal } from "../permissions.ts";
import { go } from "../router.ts";
import { Area, filled, useForm } from "./form.tsx";

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
  const { values, field, choice, reset } = useForm(input ? valuesOf(input) : empty);
  const known = models.find(({ id }) => id === values.model.trim());
  const isFilm = known ? known.kind === "video" : /video/i.test(values.model);
  const run = async () => {
    const made = await api.generations.create(inputsOf(isFilm ? values : { ...values, duration: "" }));
    reset();
    go(`/generations/${made.id}`);
  };
  return (
    <FormDialog
      label={input ? "Run again" : "New generation"}
      kind="main"
      submit="Start"
      reason={refusal("generations:write")}
      run={run}
    >
      <Field
        label="Model"
        {...field("model")}
        list={models.map(({ id }) => id)}
        hint={known ? known.summary : "An unknown model takes any inputs."}
        required
      />
      <Area label="Prompt" {...field("prompt")} required={known !== undefined} />
      <div class="pair">
        {listed.map((name) => {
          const words: readonly string[] | undefined = known && choices[known.kind][name];
          const options = words?.map((word): [string, string] => [word, word]);
          return options ? (
            <Select key={name} label={labels[name]} {...choice(name)} options={[["", "default"], ...options]} />
          ) : (
            <Field key={name} label={labels[name]} {...field(name)} />
          );
        })}
        {isFilm && (
          <Field
            label="Seconds"
            {...field("duration")}
            hint={`${durationLimits_s.least} to ${durationLimits_s.most}; 2 if empty`}
          />
        )}
        <Field label="Seed" {...field("seed")} hint="The same seed makes the same file." />
      </div>
      {!known && <Area label="Other inputs" {...field("more")} rows={3} hint='JSON, such as {"steps": 20}' />}
      {known && <p class="hint">{`It costs ${dollars(priceOf(values))} if it succeeds.`}</p>}
    </FormDialog>
  );
}

function priceOf(values: Values): number {
  const model = models.find(({ id }) => id === values.model.trim());
  if (!model) return 0;
  const { seed, duration, ...texts } = values;
  const numbers = { ...(seed && { seed: Number(seed) }), ...(duration && { duration: Number(duration) }) };
  return usdOf(costOf(model.price, parseInputs(model.kind, { ...filled(texts), ...numbers })));
}
