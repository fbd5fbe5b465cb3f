import { useEffect, useRef, useState } from "preact/hooks";
import { lengthOf } from "../format-time.ts";
import { href } from "../router.ts";
import { Moment, rowHeight, StateBar } from "../timeline-marks.tsx";
import { type Fold, placeOf, ticksOf, timeAt } from "./timeline-folds.ts";
import { clusters, type Group, isOpen, type Lane, type Mark } from "./timeline-lanes.ts";

/** The places at the left and right edges, or their times. */
export interface View {
  readonly from: number;
  readonly to: number;
}

export interface AxisProps {
  readonly lanes: readonly Lane[];
  readonly view: View;
  readonly folds: readonly Fold[];
  readonly now: number;
  /** The time of the playhead; undefined at the present. */
  readonly at: number | undefined;
  readonly chosen: string | undefined;
  readonly due: readonly number[];
  readonly onView: (view: View) => void;
  readonly onPick: (marks: readonly Mark[], at: number) => void;
  readonly onKey: (event: KeyboardEvent) => void;
  readonly onToggle: (group: Group) => void;
}

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
  const { lanes, view, folds, chosen, onView, onPick, onKey, onToggle } = props;
  const { place, width } = useWidth();
  const drag = useRef<{ x: number; view: View; isMoved: boolean } | undefined>(undefined);
  const placeAt = (clientX: number) => {
    const left = place.current?.getBoundingClientRect().left ?? 0;
    return view.from + ((clientX - left) / width) * (view.to - view.from);
  };
  const box = useRef<HTMLDivElement>(null);
  const row = chosen === undefined ? -1 : lanes.findIndex(({ marks }) => marks.some(({ key }) => key === chosen));
  useEffect(() => {
    const element = box.current;
    if (!element || row < 0) return;
    const y = headHeight + row * rowHeight;
    const isSeen = y >= element.scrollTop && y + rowHeight <= element.scrollTop + element.clientHeight;
    if (!isSeen) element.scrollTop = y - element.clientHeight / 2;
  }, [row]);
  return (
    <div class="axis" ref={box}>
      <ul class="axis-titles">
        {lanes.map(({ key, title, page, heads, isCollapsed }) => (
          <li key={key} title={title} class={heads && "head"}>
            {heads ? (
              <button type="button" class="quiet" aria-expanded={!isCollapsed} onClick={() => onToggle(heads)}>
                {title}
              </button>
            ) : page ? (
              <a href={href(page)}>{title}</a>
            ) : (
              title
            )}
          </li>
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
          if (event.ctrlKey || event.metaKey)
            onView(zoomed(view, Math.exp(event.deltaY / 300), placeAt(event.clientX)));
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
          onPick(marks, marks[0]?.at ?? timeAt(folds, placeAt(event.clientX)));
        }}
      >
        <Plot {...props} width={width} />
      </div>
    </div>
  );
}

function Plot({ lanes, view, folds, now, at, chosen, due, width }: AxisProps & { width: number }) {
  const x = (time: number) => ((placeOf(folds, time) - view.from) / (view.to - view.from)) * width;
  const height = headHeight + Math.max(1, lanes.length) * rowHeight;
  const isSeen = (from: number, to = from) => x(to) > -20 && x(from) < width + 20;
  /** Whether a label would run into that of an idle time. */
  const reachesFold = (tick: number, text: string) =>
    folds.some(({ from }) => x(from) >= x(tick) && x(tick) + 8 + text.length * 6.6 > x(from));
  const clamp = (value: number) => Math.min(width + 40, Math.max(-40, value));
  return (
    <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
      <rect class="future" x={clamp(x(now))} y={0} width={Math.max(0, width + 40 - clamp(x(now)))} height={height} />
      {folds
        .filter(({ from, to }) => isSeen(from, to))
        .map(({ from, to }) => {
          const [left, right] = [clamp(x(from)), clamp(x(to))];
          const text = lengthOf(to - from);
          return (
            <g key={from} class="fold">
              <title>{`Nothing happened for ${text}`}</title>
              <rect x={left} y={0} width={right - left} height={height} />
              {right - left > text.length * 7 && (
                <text x={(left + right) / 2} y={16}>
                  {text}
                </text>
              )}
            </g>
          );
        })}
      {ticksOf(view.from, view.to, Math.max(2, width / 90), folds).map(({ at: tick, text }) => (
        <g key={tick}>
          <line class="tick" x1={x(tick)} x2={x(tick)} y1={headHeight - 6} y2={height} />
          {!reachesFold(tick, text) && (
            <text class="tick-text" x={x(tick) + 4} y={16}>
              {text}
            </text>
          )}
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
