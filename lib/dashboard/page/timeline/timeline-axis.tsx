import { useEffect, useRef, useState } from "preact/hooks";
import { href } from "../router.ts";
import { clusters, isOpen, type Lane, type Mark, ticksOf } from "./timeline-lanes.ts";

/** The times at the left and right edges. */
export interface View {
  readonly from: number;
  readonly to: number;
}

export interface AxisProps {
  readonly lanes: readonly Lane[];
  readonly view: View;
  readonly now: number;
  /** The time of the playhead; undefined at the present. */
  readonly at: number | undefined;
  readonly chosen: string | undefined;
  readonly due: readonly number[];
  readonly onView: (view: View) => void;
  readonly onPick: (marks: readonly Mark[], at: number) => void;
  readonly onKey: (event: KeyboardEvent) => void;
}

const rowHeight = 26;
const headHeight = 26;
/** Marks closer than this are drawn as one. */
const gap = 17;
const shortest = 20;
const longest = 400 * 24 * 3_600_000;

/** Zooms and keeps the instant under the pointer in place. `by` above 1 shows more time. */
export function zoomed({ from, to }: View, by: number, around = (from + to) / 2): View {
  const span = Math.min(longest, Math.max(shortest, (to - from) * by));
  const part = (around - from) / (to - from);
  return { from: around - span * part, to: around + span * (1 - part) };
}

export const panned = ({ from, to }: View, part: number): View => {
  const by = (to - from) * part;
  return { from: from + by, to: to + by };
};

const marksOf = (lanes: readonly Lane[], keys: readonly string[]): readonly Mark[] =>
  lanes.flatMap(({ marks }) => marks.filter(({ key }) => keys.includes(key)));

function useWidth() {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(800);
  useEffect(() => {
    if (!place.current) return;
    const observer = new ResizeObserver(([entry]) => entry && setWidth(Math.max(100, entry.contentRect.width)));
    observer.observe(place.current);
    return () => observer.disconnect();
  }, []);
  return { place, width };
}

/** The lanes over time. The list next to it is the text alternative. */
export function Axis(props: AxisProps) {
  const { lanes, view, onView, onPick, onKey } = props;
  const { place, width } = useWidth();
  const drag = useRef<{ x: number; view: View; isMoved: boolean } | undefined>(undefined);
  const timeAt = (clientX: number) => {
    const left = place.current?.getBoundingClientRect().left ?? 0;
    return view.from + ((clientX - left) / width) * (view.to - view.from);
  };
  return (
    <div class="axis">
      <ul class="axis-titles">
        {lanes.map(({ key, title, page }) => (
          <li key={key}>{page ? <a href={href(page)}>{title}</a> : title}</li>
        ))}
      </ul>
      <div
        ref={place}
        class="axis-plot"
        role="application"
        aria-label="Time axis"
        aria-describedby="axis-keys"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: an application takes keys
        tabIndex={0}
        onKeyDown={onKey}
        onWheel={(event) => {
          if (event.ctrlKey || event.metaKey) onView(zoomed(view, Math.exp(event.deltaY / 300), timeAt(event.clientX)));
          else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) onView(panned(view, event.deltaX / width));
          else return;
          event.preventDefault();
        }}
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          drag.current = { x: event.clientX, view, isMoved: false };
        }}
        onPointerMove={(event) => {
          const { current } = drag;
          if (!current || event.buttons === 0) return;
          if (Math.abs(event.clientX - current.x) > 3 && !current.isMoved) {
            current.isMoved = true;
            event.currentTarget.setPointerCapture(event.pointerId);
          }
          if (current.isMoved) onView(panned(current.view, (current.x - event.clientX) / width));
        }}
        onClick={(event) => {
          const isDrag = drag.current?.isMoved;
          drag.current = undefined;
          if (isDrag) return;
          const keys =
            event.target instanceof Element ? event.target.closest("g[data-marks]")?.getAttribute("data-marks") : null;
          const marks = marksOf(lanes, keys?.split(" | ") ?? []);
          onPick(marks, marks[0]?.at ?? timeAt(event.clientX));
        }}
      >
        <Plot {...props} width={width} />
      </div>
    </div>
  );
}

function Plot({ lanes, view, now, at, chosen, due, width }: AxisProps & { readonly width: number }) {
  const x = (time: number) => ((time - view.from) / (view.to - view.from)) * width;
  const height = headHeight + Math.max(1, lanes.length) * rowHeight;
  const isSeen = (from: number, to = from) => x(to) > -20 && x(from) < width + 20;
  const clamp = (value: number) => Math.min(width + 40, Math.max(-40, value));
  return (
    <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
      <rect class="future" x={clamp(x(now))} y={0} width={Math.max(0, width + 40 - clamp(x(now)))} height={height} />
      {ticksOf(view.from, view.to, Math.max(2, width / 90)).map(({ at: tick, text }) => (
        <g key={tick}>
          <line class="tick" x1={x(tick)} x2={x(tick)} y1={headHeight - 6} y2={height} />
          <text class="tick-text" x={x(tick) + 4} y={16}>
            {text}
          </text>
        </g>
      ))}
      {lanes.map(({ key, marks }, row) => {
        const y = headHeight + row * rowHeight;
        const seen = marks.filter((mark) => isSeen(mark.at, mark.to ?? (isOpen(mark) ? now : mark.at)));
        return (
          <g key={key}>
            <line class="lane" x1={0} x2={width} y1={y + rowHeight} y2={y + rowHeight} />
            {seen.map((mark) => {
              const end = mark.to ?? (isOpen(mark) ? Math.max(now, mark.at) : undefined);
              if (!mark.isState || end === undefined) return null;
              const [left, right] = [clamp(x(mark.at)), clamp(x(end))];
              return (
                <StateBar
                  key={mark.key}
                  mark={mark}
                  x={left}
                  y={y}
                  width={right - left}
                  isChosen={chosen === mark.key}
                />
              );
            })}
            {clusters(
              seen.filter((mark) => !mark.isState || (mark.to === undefined && !isOpen(mark))),
              x,
              gap,
            ).map((group) => (
              <Moment
                key={group[0]?.key}
                group={group}
                x={x(group[0]?.at ?? 0)}
                y={y + rowHeight / 2}
                chosen={chosen}
              />
            ))}
          </g>
        );
      })}
      {due
        .filter((time) => isSeen(time))
        .map((time) => (
          <path key={time} class="due" d={`M${x(time)} ${headHeight - 12}l4 5-4 5-4-5z`} />
        ))}
      <line class="now" x1={x(now)} x2={x(now)} y1={0} y2={height} />
      {at !== undefined && <line class="playhead" x1={x(at)} x2={x(at)} y1={0} y2={height} />}
    </svg>
  );
}

interface BarProps {
  readonly mark: Mark;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly isChosen: boolean;
}

/** A state from its start to its end, with its name if there is room. */
const StateBar = ({ mark, x, y, width, isChosen }: BarProps) => (
  <g class={`bar ${mark.hue} ${mark.isAhead ? "ahead" : ""} ${isChosen ? "chosen" : ""}`} data-marks={mark.key}>
    <title>{mark.text}</title>
    <rect x={x} y={y + 5} width={Math.max(2, width)} height={rowHeight - 10} rx={2} />
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
function Moment({ group, x, y, chosen }: MomentProps) {
  const [first] = group;
  if (!first) return null;
  const hue = (["bad", "busy", "good"] as const).find((one) => group.some((mark) => mark.hue === one)) ?? "plain";
  const isChosen = group.some(({ key }) => key === chosen);
  const count = group.length > 999 ? "999+" : String(group.length);
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
function Shape({ hue, x, y }: { readonly hue: Mark["hue"]; readonly x: number; readonly y: number }) {
  if (hue === "bad") return <path class="cross" d={`M${x - 4} ${y - 4}l8 8m0-8l-8 8`} />;
  if (hue === "busy") return <path d={`M${x} ${y - 5}l5 5-5 5-5-5z`} />;
  if (hue === "good") return <circle cx={x} cy={y} r={4.5} />;
  return <rect x={x - 3} y={y - 5} width={6} height={10} rx={1} />;
}
