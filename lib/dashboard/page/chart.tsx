import { lengthOf } from "./format-time.ts";

/** One line of a chart. */
export interface Line {
  readonly name: string;
  /** A value for each point; null for a point without one. */
  readonly values: readonly (number | null)[];
  readonly hue?: "bad";
}

const width = 320;
const height = 80;

/** The next round number, at least as large as the value. */
function roundUp(value: number): number {
  if (value <= 0) return 1;
  const size = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((step) => step * size >= value) ?? 10) * size;
}

/** The path through the values from left to right, with gaps for missing values. An isolated value is a short line. */
function pathOf(given: readonly (number | null)[], most: number): string {
  // The first value is a line too.
  const values = given.length === 1 ? [...given, ...given] : given;
  const step = width / Math.max(1, values.length - 1);
  const isThere = (i: number) => (values[i] ?? null) !== null;
  const parts = values.map((value, i) => {
    if (value === null) return "";
    const y = (height - (value / most) * height).toFixed(1);
    const x = i * step;
    if (!isThere(i - 1) && !isThere(i + 1)) return `M${Math.max(0, x - 4).toFixed(1)} ${y}h4`;
    return `${isThere(i - 1) ? "L" : "M"}${x.toFixed(1)} ${y}`;
  });
  return parts.join("");
}

/** What the left end of a chart is. */
function sinceOf(seconds: number | undefined): string {
  if (seconds === undefined || seconds >= 3_500) return "1 h ago";
  return seconds === 0 ? "just started" : `measured since ${lengthOf(seconds * 1000)}`;
}

/** Lines over time. Their latest values are also shown as text, for people who cannot see the chart. */
export function LineChart({
  title,
  lines,
  show,
  seconds,
}: {
  readonly title: string;
  readonly lines: readonly Line[];
  readonly show: (value: number) => string;
  /** How long ago the first value was measured. */
  readonly seconds: number | undefined;
}) {
  const most = roundUp(Math.max(0, ...lines.flatMap(({ values }) => values.map((value) => value ?? 0))));
  return (
    <figure class="chart">
      <figcaption>
        <h2>{title}</h2>
        {lines.map(({ name, values, hue }, i) => {
          const latest = values.at(-1) ?? null;
          return (
            <span key={name} class={`key line-${i}`}>
              <svg class={hue} viewBox="0 0 16 4" width="16" height="4" aria-hidden="true">
                <path d="M0 2H16" />
              </svg>
              {name} <strong>{latest === null ? "none" : show(latest)}</strong>
            </span>
          );
        })}
      </figcaption>
      <svg viewBox={`0 -2 ${width} ${height + 4}`} preserveAspectRatio="none" aria-hidden="true">
        <path class="grid" d={`M0 0H${width}M0 ${height / 2}H${width}M0 ${height}H${width}`} />
        {lines.map(({ name, values, hue }, i) => (
          <path key={name} class={`line-${i} ${hue ?? ""}`} d={pathOf(values, most)} />
        ))}
      </svg>
      <p class="hint row spread">
        <span>{sinceOf(seconds)}</span>
        <span>top: {show(most)}</span>
        <span>now</span>
      </p>
    </figure>
  );
}

/** A bar as wide as its share of the row, to compare numbers. */
export const Bar = ({ share }: { share: number }) => (
  <svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
    <rect width={Math.max(0.5, Math.min(100, share * 100))} height="8" />
  </svg>
);
