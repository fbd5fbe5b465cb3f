import type { Mark } from "./timeline/timeline-lanes.ts";

export const rowHeight = 26;

interface BarProps {
  readonly mark: Mark;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly isChosen: boolean;
}

/** A state from its start to its end, with its name if there is room. */
export const StateBar = ({ mark, x, y, width, isChosen }: BarProps) => (
  <g
    class={`bar ${mark.hue} ${mark.isAhead ? "ahead" : ""} ${isChosen ? "chosen" : ""} ${width < 5 ? "thin" : ""}`}
    data-marks={mark.key}
  >
    <title>{mark.text}</title>
    <rect x={x} y={y + 5} width={Math.max(2, width)} height={rowHeight - 10} rx={Math.min(3, width / 3)} />
    {width > 12 + mark.text.length * 7 && (
      <text x={x + 6} y={y + 17}>
        {mark.text.replaceAll("_", " ")}
      </text>
    )}
  </g>
);

interface MomentProps {
  readonly group: readonly Mark[];
  readonly x: number;
  readonly y: number;
  readonly chosen: string | undefined;
}

/** A moment, or several overlapping ones with their number. The worst one decides the hue. */
export function Moment({ group, x, y, chosen }: MomentProps) {
  const [first] = group;
  if (!first) return null;
  const hue = (["bad", "busy", "good"] as const).find((one) => group.some((mark) => mark.hue === one)) ?? "plain";
  const isChosen = group.some(({ key }) => key === chosen);
  const bad = group.filter((mark) => mark.hue === "bad").length;
  const all = group.length > 999 ? "999+" : String(group.length);
  const count = bad > 0 && bad < group.length ? `${bad}/${all}` : all;
  return (
    <g
      class={`moment ${hue} ${first.isAhead ? "ahead" : ""} ${isChosen ? "chosen" : ""}`}
      data-marks={group.map(({ key }) => key).join(" | ")}
    >
      <title>
        {group
          .slice(0, 8)
          .map(({ text }) => text)
          .join("\n")}
      </title>
      <rect class="target" x={x - 8} y={y - 11} width={16} height={22} />
      {group.length > 1 ? (
        <>
          <rect x={x - 4} y={y - 7} width={8 + count.length * 6} height={14} rx={7} />
          <text class="count" x={x + count.length * 3} y={y + 3.5}>
            {count}
          </text>
        </>
      ) : (
        <Shape hue={hue} x={x} y={y} />
      )}
    </g>
  );
}

/** Draws each hue with its own shape, so that its meaning does not depend on colour. */
function Shape({ hue, x, y }: { hue: Mark["hue"]; x: number; y: number }) {
  if (hue === "bad") return <path class="cross" d={`M${x - 4} ${y - 4}l8 8m0-8l-8 8`} />;
  if (hue === "busy") return <path d={`M${x} ${y - 5}l5 5-5 5-5-5z`} />;
  if (hue === "good") return <circle cx={x} cy={y} r={4.5} />;
  return <rect x={x - 3} y={y - 5} width={6} height={10} rx={1} />;
}
