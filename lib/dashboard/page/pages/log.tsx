import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { LogEntry } from "../../../client/generated/records.ts";
import { Button, Field, Select } from "../controls.tsx";
import { clockOf, countOf } from "../format-time.ts";
import { Check } from "../labelled.tsx";
import { type Read, useRead } from "../live.ts";
import { row_px, useScroll } from "../log-scroll.ts";
import { Copy, save } from "../parts.tsx";
import { href, place, setQuery } from "../router.ts";
import { Empty, Loading } from "../ui.tsx";
import { type Pages, readOn, type Source } from "./log-pages.ts";

/** Longer lines are cut on the screen; the API returns them in full. */
const mostShown = 2000;

/** All lines of a log, with those that follow. */
export function useLog(of: Source): Read<readonly LogEntry[]> {
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
  return { data, error };
}

interface LogProps {
  /** The path of the page that shows the log. */
  readonly path: string;
  /** The name of the file that a download makes. */
  readonly name: string;
}

export function LogView({
  of: { data, error },
  empty,
  ...log
}: LogProps & { readonly of: Read<readonly LogEntry[]>; readonly empty: string }) {
  if (!data) return <Loading error={error} />;
  return data.length === 0 ? <Empty>{empty}</Empty> : <Lines {...log} of={data} />;
}

const levels: readonly (readonly [string, string])[] = [
  ["", "All levels"],
  ["warn", "Warnings and errors"],
  ["error", "Errors"],
];
const isOfLevel = ({ level }: LogEntry, wanted: string) =>
  wanted === "" || level === "error" || (wanted === "warn" && level === "warn");

const textOf = (of: readonly Numbered[]) =>
  of.map(({ timestamp, level, message }) => `${timestamp} ${level.padEnd(5)} ${message}`).join("\n");

type Numbered = LogEntry & { readonly number: number };

const wrapStored = "svc-wrap";

function Lines({ path, name, of }: LogProps & { of: readonly LogEntry[] }) {
  const linked = Number(place.value.query.get("line") ?? 0);
  const [search, setSearch] = useState("");
  const [level, setLevel] = useState("");
  const [isWrapped, setWrapped] = useState(localStorage.getItem(wrapStored) === "yes");
  const [chosen, setChosen] = useState(0);
  const [isFollowing, setFollowing] = useState(linked === 0);
  const lines = useMemo(
    () => of.map((entry, i): Numbered => ({ ...entry, number: i + 1 })).filter((entry) => isOfLevel(entry, level)),
    [of, level],
  );
  const { box, top, height, scrollTo } = useScroll(lines.length, isFollowing, setFollowing);
  const wanted = search.toLowerCase();
  // Searches once per search text, not per frame while scrolling: a log may have 10,000 lines.
  const found = useMemo(
    () => (wanted === "" ? [] : lines.flatMap(({ message }, i) => (message.toLowerCase().includes(wanted) ? [i] : []))),
    [lines, wanted],
  );
  const chosenLine = lines[found[chosen] ?? -1]?.number;

  useEffect(() => {
    const index = lines.findIndex(({ number }) => number === linked);
    if (index >= 0) scrollTo(index);
    // The linked line of a long log may arrive only with a later page.
  }, [linked, of.length >= linked, isWrapped]);
  const show = (at: number) => {
    const next = (at + found.length) % found.length;
    setChosen(next);
    setFollowing(false);
    scrollTo(found[next] ?? 0);
  };

  const first = isWrapped ? 0 : Math.max(0, Math.floor(top / row_px) - 10);
  const shown = isWrapped ? lines : lines.slice(first, first + Math.ceil(height / row_px) + 20);
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
        <Select label="Level" isBare value={level} options={levels} onChange={setLevel} />
        <span class="hint" role="status">
          {wanted === ""
            ? countOf(lines.length, "line")
            : `${chosen >= 0 && found.length > 0 ? `${chosen + 1} of ` : ""}${found.length} found`}
        </span>
        {found.length > 0 && (
          <span class="row">
            <Button onClick={() => show(chosen - 1)}>Previous</Button>
            <Button type="submit">Next</Button>
          </span>
        )}
        <span class="row log-tools">
          <Check
            label="Wrap"
            isOn={isWrapped}
            set={(on) => {
              localStorage.setItem(wrapStored, on ? "yes" : "no");
              setWrapped(on);
            }}
          />
          <Check label="Follow" isOn={isFollowing} set={setFollowing} />
          <Copy text={() => textOf(lines)} kind="quiet" isIcon>
            Copy the log
          </Copy>
          <Button kind="quiet" isIcon icon="download" onClick={() => save(textOf(lines), `${name}.log`)}>
            Download the log
          </Button>
        </span>
      </form>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must be reachable by the keyboard */}
      <section class={isWrapped ? "lines wrapped" : "lines"} ref={box} tabIndex={0} aria-label="Lines">
        {/* Preact 11 does not append px to a number. */}
        <div class="sheet" style={isWrapped ? {} : { height: `${lines.length * row_px}px` }}>
          {shown.map((entry, i) => {
            const { number } = entry;
            const classes = ["line", entry.level, number === linked && "linked", chosenLine === number && "chosen"];
            return (
              <div
                key={number}
                class={classes.filter(Boolean).join(" ")}
                style={isWrapped ? {} : { top: `${(first + i) * row_px}px` }}
              >
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
function Message({ of, wanted }: { of: string; wanted: string }) {
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
