import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { LogEntry } from "../../../client/generated/records.ts";
import { Button, Field } from "../controls.tsx";
import { clockOf } from "../format-time.ts";
import { useRead } from "../live.ts";
import { href, place, setQuery } from "../router.ts";
import { Empty, Loading } from "../ui.tsx";
import { type Pages, readOn, type Source } from "./log-pages.ts";

const row_px = 20;
/** Longer lines are cut on the screen; the API returns them in full. */
const mostShown = 2000;

export function LogPart({
  of,
  empty,
  above,
}: {
  readonly of: Source;
  readonly empty: string;
  /** Content above the lines that depends on them. */
  readonly above?: (entries: readonly LogEntry[]) => ComponentChildren;
}) {
  const { id } = of;
  const pages = useRef<Pages>({ cursors: [undefined], entries: [] });
  const [first, setFirst] = useState<readonly LogEntry[]>();
  const { data = first, error } = useRead<readonly LogEntry[]>(
    `log ${id}`,
    async (signal) => {
      const isFirst = pages.current.entries.length === 0;
      pages.current = await readOn(of, pages.current, signal, (entries) => isFirst && setFirst(entries));
      return pages.current.entries;
    },
    (change) => change.id === id,
  );
  if (!data) return <Loading error={error} />;
  if (data.length === 0) return <Empty>{empty}</Empty>;
  return (
    <>
      {above?.(data)}
      <Lines path={of.path} of={data} />
    </>
  );
}

function Lines({ path, of }: { readonly path: string; readonly of: readonly LogEntry[] }) {
  const linked = Number(place.value.query.get("line") ?? 0);
  const [search, setSearch] = useState("");
  const [chosen, setChosen] = useState(0);
  const [isFollowing, setFollowing] = useState(linked === 0);
  const { box, top, height, scrollTo } = useScroll(of.length, isFollowing, setFollowing);
  const wanted = search.toLowerCase();
  // Searches once per search text, not per frame while scrolling: a log may have 10,000 lines.
  const found = useMemo(
    () => (wanted === "" ? [] : of.flatMap(({ message }, i) => (message.toLowerCase().includes(wanted) ? [i] : []))),
    [of, wanted],
  );

  useEffect(() => {
    if (linked > 0) scrollTo(linked - 1);
    // The linked line of a long log may arrive only with a later page.
  }, [linked, of.length >= linked]);
  const show = (at: number) => {
    const next = (at + found.length) % found.length;
    setChosen(next);
    setFollowing(false);
    scrollTo(found[next] ?? 0);
  };

  const first = Math.max(0, Math.floor(top / row_px) - 10);
  const shown = of.slice(first, first + Math.ceil(height / row_px) + 20);
  return (
    <div class="log">
      <form
        class="log-bar"
        onSubmit={(event) => {
          event.preventDefault();
          if (found.length > 0) show(chosen + 1);
        }}
      >
        <Field
          label="Search"
          type="search"
          value={search}
          onInput={(text) => {
            setSearch(text);
            setChosen(-1);
          }}
        />
        <span class="hint" role="status">
          {wanted === ""
            ? `${of.length} lines`
            : `${chosen >= 0 && found.length > 0 ? `${chosen + 1} of ` : ""}${found.length} found`}
        </span>
        {found.length > 0 && (
          <span class="row">
            <Button onClick={() => show(chosen - 1)}>Previous</Button>
            <Button type="submit">Next</Button>
          </span>
        )}
        <label class="check">
          <input
            type="checkbox"
            checked={isFollowing}
            onChange={({ currentTarget }) => setFollowing(currentTarget.checked)}
          />
          Follow
        </label>
      </form>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must be reachable by the keyboard */}
      <section class="lines" ref={box} tabIndex={0} aria-label="Lines">
        {/* Preact 11 does not append px to a number. */}
        <div class="sheet" style={{ height: `${of.length * row_px}px` }}>
          {shown.map((entry, i) => {
            const number = first + i + 1;
            const classes = [
              "line",
              entry.level,
              number === linked && "linked",
              found[chosen] === number - 1 && "chosen",
            ];
            return (
              <div key={number} class={classes.filter(Boolean).join(" ")} style={{ top: `${(number - 1) * row_px}px` }}>
                <a
                  class="number"
                  href={href(`${path}?line=${number}`)}
                  aria-label={`Line ${number}`}
                  onClick={(event) => {
                    event.preventDefault();
                    setFollowing(false);
                    setQuery({ line: String(number) });
                  }}
                >
                  {number}
                </a>
                <time dateTime={entry.timestamp}>{clockOf(entry.timestamp)}</time>
                <span class="level">{entry.level === "info" ? "" : entry.level}</span>
                <Message of={entry.message} wanted={wanted} />
              </div>
            );
          })}
        </div>
      </section>
    </div>
  );
}

/** A message in one line, whatever it contains, with the search text marked. */
function Message({ of, wanted }: { readonly of: string; readonly wanted: string }) {
  const text = of.slice(0, mostShown).replaceAll(/\r?\n/g, " ⏎ ");
  const rest = of.length > mostShown ? ` … ${of.length - mostShown} more characters` : "";
  const at = wanted === "" ? -1 : text.toLowerCase().indexOf(wanted);
  return (
    <bdi class="message" dir="ltr">
      {at < 0 ? (
        text
      ) : (
        <>
          {text.slice(0, at)}
          <mark>{text.slice(at, at + wanted.length)}</mark>
          {text.slice(at + wanted.length)}
        </>
      )}
      {rest && <em>{rest}</em>}
    </bdi>
  );
}

/**
 * The visible part of the box. While following, it stays at the end of the log; scrolling up stops that and keeps the
 * position.
 */
function useScroll(count: number, isFollowing: boolean, setFollowing: (follows: boolean) => void) {
  const box = useRef<HTMLElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const measure = new ResizeObserver(() => setHeight(element.clientHeight));
    let last = element.scrollTop;
    const onScroll = () => {
      setTop(element.scrollTop);
      const isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight < row_px;
      if (element.scrollTop < last && !isAtEnd) setFollowing(false);
      last = element.scrollTop;
    };
    measure.observe(element);
    element.addEventListener("scroll", onScroll, { passive: true });
    return () => {
      measure.disconnect();
      element.removeEventListener("scroll", onScroll);
    };
  }, []);
  useLayoutEffect(() => {
    if (isFollowing && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [count, isFollowing, height]);
  const scrollTo = (index: number) => {
    if (!box.current) return;
    box.current.scrollTop = index * row_px - box.current.clientHeight / 2;
    // The box itself may be out of view, and the bar covers the bottom of the window.
    box.current.scrollIntoView({ block: "center" });
  };
  return { box, top, height, scrollTo };
}
