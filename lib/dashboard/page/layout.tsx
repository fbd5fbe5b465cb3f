import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { actAs, loadSession, people, person, session, signOut } from "./api.ts";
import { BottomBar } from "./bottom-bar.tsx";
import { Action, Select } from "./controls.tsx";
import { Drawer } from "./drawer.tsx";
import { isLive, refreshAll, useRead } from "./live.ts";
import { Notices } from "./notices.tsx";
import { instrumentPages } from "./pages/instrument-pages.tsx";
import { Palette } from "./palette.tsx";
import { href, place } from "./router.ts";
import { Shortcuts } from "./shortcuts.tsx";

/** The pages in the navigation. */
const pages = [
  ["/", "Overview"],
  ["/projects", "Projects"],
  ["/deployments", "Deployments"],
  ["/generations", "Generations"],
  ["/webhooks", "Webhooks"],
  ["/integrations", "Integrations"],
  ["/events", "Events"],
  ["/people", "People"],
  ["/keys", "API keys"],
  ["/audit-log", "Audit log"],
  ["/system", "System"],
] as const;

/** In a narrow window the navigation is a scrolling row; this keeps the current page visible in it. */
function useCurrentInSight() {
  const { path } = place.value;
  useEffect(() => {
    document.querySelector(".rail [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [path]);
}

export const Layout = ({ children }: { readonly children: ComponentChildren }) => {
  useCurrentInSight();
  const shown = session.value?.mode === "dev" ? [...pages, ...instrumentPages] : pages;
  return (
    <div class="frame">
      <a class="skip" href="#content">
        Skip to the page
      </a>
      <nav class="rail" aria-label="Pages">
        <div class="brand">svc-server</div>
        <ul>
          {shown.map(([path, text]) => {
            const isHere = path === "/" ? place.value.path === "/" : place.value.path.startsWith(path);
            return (
              <li key={path}>
                <a href={href(path)} aria-current={isHere ? "page" : undefined}>
                  {text}
                </a>
              </li>
            );
          })}
        </ul>
        <div class="rail-foot">
          <Who />
          <Theme />
          <Shortcuts />
          <span class="live-mark" role="status">
            <i class={isLive.value ? "dot on" : "dot"} aria-hidden="true" />
            {isLive.value ? "Live" : "Connecting"}
          </span>
        </div>
      </nav>
      <div id="content" class="content" tabIndex={-1}>
        <Notices />
        {children}
      </div>
      <Drawer />
      <Palette pages={shown} />
      {session.value?.mode === "dev" && <BottomBar />}
    </div>
  );
};

/** In `start`, who is signed in; in `dev`, the choice of the person to act as. */
function Who() {
  const who = session.value;
  const isDev = who?.mode === "dev";
  const { data } = useRead(
    "people",
    async () => (isDev ? people() : []),
    ({ kind, event }) => kind === "rights" || event === "user.removed",
  );
  if (!who) return null;
  if (!isDev) {
    return (
      <div class="who">
        <strong>{who.name}</strong>
        <span class="hint">
          {who.role} of {who.organization}
        </span>
        <Action run={signOut}>Sign out</Action>
      </div>
    );
  }
  const current = data?.find(({ person: one }) => one.endsWith(`.${who.user_id}`))?.person ?? "";
  return (
    <Select
      label="Act as"
      value={person.value ?? current}
      options={(data ?? []).map((one) => [one.person, `${one.name}, ${one.role} of ${one.organization}`])}
      onChange={async (name) => {
        actAs(name);
        await loadSession();
        refreshAll();
      }}
    />
  );
}

const themes = ["system", "light", "dark"] as const;

function Theme() {
  const [theme, setTheme] = useState(localStorage.getItem("svc-theme") ?? "system");
  useEffect(() => {
    if (theme === "system") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme;
    localStorage.setItem("svc-theme", theme);
  }, [theme]);
  return <Select label="Theme" value={theme} options={themes.map((one) => [one, one])} onChange={setTheme} />;
}
