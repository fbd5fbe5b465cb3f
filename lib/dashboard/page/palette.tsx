import { signal } from "@preact/signals";
import { useEffect, useId, useState } from "preact/hooks";
import { prefixes } from "../../client/generated/calls.ts";
import { api } from "./api.ts";
import { useRead } from "./live.ts";
import { Modal } from "./modal.tsx";
import { go } from "./router.ts";

export const isPaletteOpen = signal(false);

const closePalette = () => {
  isPaletteOpen.value = false;
};

interface Item {
  readonly key: string;
  readonly text: string;
  readonly kind: string;
  readonly run: () => void;
}

type Pages = readonly (readonly [path: string, text: string])[];

/** Goes to a page, a project or an identifier, or runs an action of the current page. */
export function Palette({ pages }: { readonly pages: Pages }) {
  return isPaletteOpen.value ? <Open pages={pages} /> : null;
}

/** The actions of the current page: its own buttons, so that a new page need not register any. */
function actionsOf(): Item[] {
  const buttons = [
    ...document.querySelectorAll<HTMLButtonElement>(
      "main .page-head button:not(:disabled), .clock button:not(:disabled)",
    ),
  ];
  return buttons.map((button, i) => ({
    key: `action ${i}`,
    text: button.textContent ?? "",
    kind: "action",
    run: () => button.click(),
  }));
}

/** The page of an identifier, if its collection has pages. */
function byIdentifier(text: string, pages: Pages): Item[] {
  const [, prefix] = /^([a-z]+)_\w+$/.exec(text) ?? [];
  const collection = Object.entries(prefixes).find(([, one]) => one === prefix)?.[0];
  const path = `/${collection}`;
  if (collection === undefined || !pages.some(([one]) => one === path)) return [];
  return [{ key: text, text, kind: collection, run: () => go(`${path}/${encodeURIComponent(text)}`) }];
}

const most = 12;

/** Ranks equal texts first, then texts that begin with the search, then texts that contain it. */
const rankOf = (text: string, wanted: string) => {
  const lower = text.toLowerCase();
  return lower === wanted ? 0 : lower.startsWith(wanted) ? 1 : 2;
};

function Open({ pages }: { readonly pages: Pages }) {
  const list = useId();
  const [search, setSearch] = useState("");
  const [at, setAt] = useState(0);
  const [actions] = useState(actionsOf);
  const [isChosen, setIsChosen] = useState(false);
  const { data, error } = useRead(
    "palette",
    async (signal) => {
      const [projects, deployments] = await Promise.all([
        api.projects.list({ per_page: 100 }, { signal }),
        api.deployments.list({ per_page: 100 }, { signal }),
      ]);
      return { projects: projects.data, deployments: deployments.data };
    },
    () => false,
  );
  const wanted = search.trim().toLowerCase();
  const all: Item[] = [
    ...pages.map(([path, text]): Item => ({ key: path, text, kind: "page", run: () => go(path) })),
    ...actions,
    ...(data?.projects ?? []).map(
      ({ id, name }): Item => ({ key: id, text: name, kind: "project", run: () => go(`/projects/${id}`) }),
    ),
  ].filter(({ text }) => text.toLowerCase().includes(wanted));
  // Matches the end of an identifier, because tables show only its last characters.
  const ending = wanted.replace(/^…/, "");
  const deployments = ending.length < 4 || wanted.includes("_") ? [] : (data?.deployments ?? []);
  const items: Item[] = [
    ...byIdentifier(search.trim(), pages),
    ...all.sort((a, b) => rankOf(a.text, wanted) - rankOf(b.text, wanted)),
    ...deployments
      .filter(({ id }) => id.toLowerCase().endsWith(ending))
      .map(
        ({ id, environment }): Item => ({
          key: id,
          text: id,
          kind: `deployment to ${environment}`,
          run: () => go(`/deployments/${id}`),
        }),
      ),
  ];
  const offered = items.slice(0, most);
  const chosen = Math.min(at, offered.length - 1);

  const choose = (item: Item | undefined) => {
    if (!item) return;
    closePalette();
    // Runs after the focus has returned to the element that had it.
    queueMicrotask(item.run);
  };
  // For fast typists: Enter waits for results that are still loading.
  useEffect(() => {
    if (isChosen && (data || error !== undefined)) {
      setIsChosen(false);
      choose(offered[chosen]);
    }
  }, [isChosen, data, error]);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && offered.length > 0) setAt((chosen + step + offered.length) % offered.length);
    else if (event.key === "Enter") setIsChosen(true);
    else return;
    event.preventDefault();
  };
  return (
    <Modal class="palette" label="Go to" close={closePalette}>
      <input
        type="text"
        role="combobox"
        aria-label="Page, project, action or identifier"
        placeholder="Page, project, action or identifier"
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={chosen >= 0 ? `${list}-${chosen}` : undefined}
        autocomplete="off"
        spellcheck={false}
        value={search}
        onInput={({ currentTarget }) => {
          setSearch(currentTarget.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div id={list} role="listbox" aria-label="Found">
        {offered.map((item, i) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the focus, and its keys choose
          <div
            key={item.key}
            id={`${list}-${i}`}
            role="option"
            tabIndex={-1}
            aria-selected={i === chosen}
            onClick={() => choose(item)}
          >
            <bdi>{item.text}</bdi> <span class="hint">{item.kind}</span>
          </div>
        ))}
      </div>
      <p class="hint" role="status">
        {offered.length === 0 ? "No results." : `${items.length} found`}
      </p>
    </Modal>
  );
}
