/** Where the names of a record come from: ours, a schema's or a column's, and never a caller's. */
const quoted = (name: string) => JSON.stringify(name);

type Recorder = (values: readonly unknown[]) => object;
/** By their names: every service and every fork has the same ones. */
const recorders = new Map<string, Recorder>();

/**
 * A function that makes a record of these names from the values in their order. It is written as one object literal and
 * compiled: a loop that adds one key after the other takes ten times as long, and its objects are slower to write as JSON.
 */
export function recordOf(names: readonly string[]): Recorder {
  const known = recorders.get(names.join());
  if (known) return known;
  const unique = [...new Map(names.map((name, i) => [name, i]))];
  const parts = unique.map(([name, i]) => `${quoted(name)}: values[${i}]`);
  const made = new Function("values", `return { ${parts} };`) as Recorder;
  recorders.set(names.join(), made);
  return made;
}

/** A part of a record to copy: how, and whether it may be left out. */
export interface Copied {
  readonly name: string;
  readonly optional: boolean;
  /** Whether null is a value of its own. Otherwise an optional part that is null is left out. */
  readonly nullable: boolean;
  readonly shape: ((value: unknown) => unknown) | undefined;
}

/**
 * A function that copies these parts of a record and nothing else. What may be left out, and is, stays out. It is compiled
 * when the first record comes, because no start needs the shapes of all operations.
 */
export function copier(parts: readonly Copied[]): (record: unknown) => object {
  let copy: ((record: unknown) => object) | undefined;
  return (record) => {
    copy ??= compiled(parts);
    return copy(record);
  };
}

function compiled(parts: readonly Copied[]): (record: unknown) => object {
  const value = ({ name, shape }: Copied, i: number) =>
    shape ? `shapes[${i}](from[${quoted(name)}])` : `from[${quoted(name)}]`;
  const set = (part: Copied, i: number) => {
    const assignment = `to[${quoted(part.name)}] = ${value(part, i)};`;
    if (!part.optional) return assignment;
    return `if (from[${quoted(part.name)}] ${part.nullable ? "!== undefined" : "!= null"}) ${assignment}`;
  };
  // A literal as long as nothing is optional, so that every record has its keys in the order of the schema.
  const always = parts.findIndex(({ optional }) => optional);
  const first = parts.slice(0, always < 0 ? undefined : always);
  const literal = first.map((part, i) => `${quoted(part.name)}: ${value(part, i)}`);
  const rest = parts.map(set).slice(first.length);
  const text = `return (from) => { const to = { ${literal} }; ${rest.join(" ")} return to; };`;
  return new Function("shapes", text)(parts.map(({ shape }) => shape)) as never;
}
