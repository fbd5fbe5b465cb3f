import { signal } from "@preact/signals";

/** The path below which an application has mounted the service; usually empty. */
export const base = /^(.*?)\/dashboard(?:\/|$)/.exec(location.pathname)?.[1] ?? "";
/** Where calls of programs go. */
export const origin = location.origin + base;
const root = `${base}/dashboard`;
const here = () => ({
  path: location.pathname.slice(root.length).replace(/\/$/, "") || "/",
  query: new URLSearchParams(location.search),
});

/** The current location: a path below `/dashboard` and the query. */
export const place = signal(here());

export const href = (path: string): string => root + (path === "/" ? "" : path);

/** What the browser keeps with an entry of its history. */
interface Entry {
  /** The path and the query before this entry. */
  readonly from?: string;
  /** How far its page was scrolled when a person left it. */
  readonly top?: number;
}
const entry = (): Entry => (history.state as Entry | null) ?? {};

/** A link to a list. It goes back in the history if a person came from there, so that the list is as it was. */
export function linkBack(list: string) {
  const { from = "" } = entry();
  const isBefore = from.split("?")[0] === list;
  const onClick = (event: MouseEvent) => {
    if (!isBefore || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    history.back();
  };
  return { href: href(isBefore ? from : list), onClick };
}

export function go(path: string, { replace = false } = {}): void {
  const url = href(path);
  const before = place.value;
  stopScrolling();
  if (replace) history.replaceState(history.state, "", url);
  else {
    history.replaceState({ ...entry(), top: scrollY }, "");
    history.pushState({ from: `${before.path}${before.query.size > 0 ? `?${before.query}` : ""}` }, "", url);
  }
  place.value = here();
  if (place.value.path === before.path) return;
  scrollTo(0, 0);
  // Keyboard and screen reader continue at the new page.
  requestAnimationFrame(() => document.querySelector<HTMLElement>("main h1")?.focus());
}

/** Changes parts of the query; an empty value removes one. Back leaves the page, unless the change is a new `page`. */
export function setQuery(changes: Readonly<Record<string, string>>, is?: "page"): void {
  const query = new URLSearchParams(place.value.query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === "") query.delete(name);
    else query.set(name, value);
  }
  go(`${place.value.path}${query.size > 0 ? `?${query}` : ""}`, { replace: is !== "page" });
}

let stopScrolling = () => {};

/**
 * Scrolls to where a page was left, as soon as its data make it long enough, and focuses the link to the page that was
 * left now. What the person does ends it.
 */
function scrollBack(left: string): void {
  stopScrolling();
  const { top } = entry();
  if (top === undefined) return;
  const watch = new ResizeObserver(() => {
    scrollTo(0, top);
    const link = document.querySelector<HTMLElement>(`main a[href="${CSS.escape(href(left))}"]`);
    if (!link || scrollY < top - 1) return;
    link.focus({ preventScroll: true });
    stopScrolling();
  });
  const inputs = ["wheel", "touchstart", "pointerdown", "keydown"] as const;
  stopScrolling = () => {
    watch.disconnect();
    for (const input of inputs) removeEventListener(input, stopScrolling);
  };
  for (const input of inputs) addEventListener(input, stopScrolling);
  watch.observe(document.body);
}

/** Follows links to pages of the dashboard without a full page load. */
export function followLinks(): void {
  addEventListener("popstate", () => {
    const { path } = place.value;
    place.value = here();
    scrollBack(path);
  });
  addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    if (!link || !isPlain || event.defaultPrevented || link.target || link.origin !== location.origin) return;
    if (link.pathname !== root && !link.pathname.startsWith(`${root}/`)) return;
    // The browser handles links within the current page, such as the skip link.
    if (link.hash && link.pathname === location.pathname && link.search === location.search) return;
    event.preventDefault();
    go(link.pathname.slice(root.length) + link.search + link.hash);
  });
}
