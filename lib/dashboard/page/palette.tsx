import { signal } from "@preact/signals";
import { useEffect, useId, useState } from "preact/hooks";
import { prefixes } from "../../client/generated/calls.ts";
import type { RecentRequest } from "../../http/recent-requests.ts";
import { orNone } from "./api.ts";
import { Icon } from "./icon.tsx";
import { useRead } from "./live.ts";
import { Modal } from "./modal.tsx";
import { groups, type PageLink } from "./navigation.ts";
import { type Item, readRecords } from "./palette-records.ts";
import { readRequests, requestsOf } from "./recent-requests.ts";
import { go, place } from "./router.ts";
import { theme, themes } from "./theme.tsx";

export const isPaletteOpen = signal(false);

const closePalette = () => {
  isPaletteOpen.value = false;
};

/** Goes to a page or a record, or does something. */
export const Palette = () => (isPaletteOpen.value ? <Open /> : null);

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
    icon: "play",
    run: () => button.click(),
  }));
}

/** Goes to a page and presses one of its buttons, once it is there. */
function press(path: string, name: string): void {
  go(path);
  const isThere = () => {
    const found = [...document.querySelectorAll<HTMLButtonElement>("main .page-head button:not(:disabled)")];
    const button = place.value.path === path ? found.find(({ textContent }) => textContent === name) : undefined;
    button?.click();
    return button !== undefined || place.value.path !== path;
  };
  const watch = new MutationObserver(() => isThere() && watch.disconnect());
  if (!isThere()) watch.observe(document.body, { childList: true, subtree: true });
}

const far: readonly (readonly [path: string, button: string])[] = [
  ["/projects", "New project"],
  ["/generations", "New generation"],
  ["/webhooks", "New webhook"],
  ["/integrations", "New integration"],
  ["/people", "Invite"],
  ["/keys", "New API key"],
];

/** What other pages offer, and the colours of the page. */
const deeds = (own: readonly Item[]): Item[] => [
  ...far
    .filter(([, text]) => own.every((one) => one.text !== text))
    .map(([path, text]): Item => ({ key: text, text, kind: "action", icon: "play", run: () => press(path, text) })),
  ...themes.map(
    (one): Item => ({
      key: `theme ${one}`,
      text: `Theme: ${one}`,
      kind: "action",
      icon: "theme",
      run: () => (theme.value = one),
    }),
  ),
];

/** Opens the request with this identifier, or the list where several have it or none does. */
async function openRequest(id: string): Promise<void> {
  const { data } = await orNone(readRequests<{ data: RecentRequest[] }>(`?search=${id}`));
  const [found, ...others] = data.filter(({ request_id }) => request_id === id);
  go(found && others.length === 0 ? `/requests/${found.number}` : requestsOf(id));
}

/** The page of an identifier, if its collection has pages. */
function byIdentifier(text: string, pages: readonly PageLink[]): Item[] {
  const [, prefix] = /^([a-z]+)_\w+$/.exec(text) ?? [];
  if (prefix === "req") return [{ key: text, text, kind: "request", icon: "arrows", run: () => openRequest(text) }];
  const collection = Object.entries(prefixes).find(([, one]) => one === prefix)?.[0];
  const found = pages.find(([one]) => one === `/${collection}`);
  if (collection === undefined || !found) return [];
  const [path, , icon] = found;
  return [{ key: text, text, kind: collection, icon, run: () => go(`${path}/${encodeURIComponent(text)}`) }];
}

const most = 12;

/** Ranks equal texts first, then texts that begin with the search, then texts that contain it. */
const rankOf = (text: string, wanted: string) => {
  const lower = text.toLowerCase();
  return lower === wanted ? 0 : lower.startsWith(wanted) ? 1 : 2;
};

function Open() {
  const list = useId();
  const [search, setSearch] = useState("");
  /** The item that the arrow keys chose: it stays chosen while records arrive around it. */
  const [key, setKey] = useState<string>();
  const [actions] = useState(actionsOf);
  const [isChosen, setIsChosen] = useState(false);
  const { data, error } = useRead("palette", readRecords, () => false);
  const pages = groups().flatMap(([, links]) => links);
  const wanted = search.trim().toLowerCase();
  const places = pages.map(
    ([path, text, icon]): Item => ({ key: path, text, kind: "page", icon, run: () => go(path) }),
  );
  // Before a search, what can be done here: the pages stand beside it.
  const all: Item[] = [
    ...(wanted === "" ? [...actions, ...places] : [...places, ...actions]),
    ...deeds(actions),
    ...(data?.items ?? []),
  ].filter(({ text, kind }) => wanted.split(/\s+/).every((word) => `${text} ${kind}`.toLowerCase().includes(word)));
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
          icon: "rocket",
          run: () => go(`/deployments/${id}`),
        }),
      ),
  ];
  const at = items.findIndex((one) => one.key === key);
  const offered = items.filter((_, i) => i < most || i === at);
  const chosen = Math.min(Math.max(at, 0), offered.length - 1);

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
    if (step !== undefined) setKey(offered[(chosen + step + offered.length) % offered.length]?.key);
    else if (event.key !== "Enter") return;
    else if (at >= 0) choose(offered[chosen]);
    else setIsChosen(true);
    event.preventDefault();
  };
  return (
    <Modal class="palette" label="Go to" close={closePalette}>
      <input
        type="text"
        role="combobox"
        aria-label="Page, record, person, prompt, action or identifier"
        placeholder="Page, record, person, prompt, action or identifier"
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={chosen >= 0 ? `${list}-${chosen}` : undefined}
        autocomplete="off"
        spellcheck={false}
        value={search}
        readOnly={isChosen}
        onInput={({ currentTarget }) => {
          setSearch(currentTarget.value);
          setKey(undefined);
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
            <Icon of={item.icon} /> <bdi>{item.text}</bdi> <span class="hint">{item.kind}</span>
          </div>
        ))}
      </div>
      <p class="hint" role="status">
        {offered.length > 0 ? `${items.length} found` : data || error !== undefined ? "No results." : "Loading…"}
      </p>
    </Modal>
  );
}
