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

export function go(path: string, { replace = false } = {}): void {
  const url = href(path);
  if (replace) history.replaceState(null, "", url);
  else history.pushState(null, "", url);
  const before = place.value.path;
  place.value = here();
  if (place.value.path === before) return;
  scrollTo(0, 0);
  // Keyboard and screen reader continue at the new page.
  requestAnimationFrame(() => document.querySelector<HTMLElement>("main h1")?.focus());
}

/**
 * Changes parts of the query; an empty value removes one. It replaces the history entry, so that Back leaves the page
 * instead of undoing a filter.
 */
export function setQuery(changes: Readonly<Record<string, string>>): void {
  const query = new URLSearchParams(place.value.query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === "") query.delete(name);
    else query.set(name, value);
  }
  go(`${place.value.path}${query.size > 0 ? `?${query}` : ""}`, { replace: true });
}

/** Follows links to pages of the dashboard without a full page load. */
export function followLinks(): void {
  addEventListener("popstate", () => {
    place.value = here();
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
