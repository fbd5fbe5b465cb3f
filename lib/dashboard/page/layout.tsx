import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { actAs, loadSession, people, person, session, signOut } from "./api.ts";
import { BottomBar } from "./bottom-bar.tsx";
import { Action, Button, Select } from "./controls.tsx";
import { Drawer } from "./drawer.tsx";
import { Icon } from "./icon.tsx";
import { isLive, isOld, lostAt, refreshAll, useRead } from "./live.ts";
import { groups } from "./navigation.ts";
import { Palette } from "./palette.tsx";
import { href, place } from "./router.ts";
import { Find, Shortcuts } from "./shortcuts.tsx";
import { Theme } from "./theme.tsx";

/** The mark of svc-server, as in icon.svg: a log, and the time. */
const Mark = () => (
  <svg class="brand-mark" viewBox="0 0 32 32" aria-hidden="true">
    <rect width="32" height="32" rx="8" />
    <path d="M8 11h9M8 16h16M8 21h7" />
    <circle cx="23" cy="11" r="2.6" />
  </svg>
);

export const Layout = ({ children }: { children: ComponentChildren }) => {
  const { path } = place.value;
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    setOpen(false);
    document.querySelector(".rail [aria-current]")?.scrollIntoView({ block: "nearest" });
  }, [path]);
  return (
    <div class="frame">
      <a class="skip" href="#content">
        Skip to the page
      </a>
      <nav class={isOpen ? "rail open" : "rail"} aria-label="Pages">
        <div class="brand">
          <Mark />
          svc-server
        </div>
        <Find />
        <Button
          kind="quiet"
          icon={isOpen ? "close" : "menu"}
          isIcon
          isExpanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          Menu
        </Button>
        <div class="groups">
          {groups().map(([title, pages]) => (
            <Group key={title} title={title}>
              {pages.map(([to, text, icon]) => (
                <li key={to}>
                  <a
                    href={href(to)}
                    aria-current={(to === "/" ? path === "/" : path.startsWith(to)) ? "page" : undefined}
                  >
                    <Icon of={icon} />
                    {text}
                  </a>
                </li>
              ))}
            </Group>
          ))}
        </div>
        <div class="rail-foot">
          <Who />
          <div class="row">
            <Theme />
            <Shortcuts />
            <span class="live-mark" role="status">
              <i class={isLive.value ? "dot on" : "dot"} aria-hidden="true" />
              {isLive.value ? "Live" : "Connecting"}
            </span>
          </div>
        </div>
      </nav>
      <div id="content" class="content" tabIndex={-1}>
        <Notices />
        {children}
      </div>
      <Drawer />
      <Palette />
      {session.value?.mode === "dev" && <BottomBar />}
    </div>
  );
};

const Group = ({ title, children }: { title: string; children: ComponentChildren }) => (
  <>
    {title && <p id={`group-${title}`}>{title}</p>}
    <ul aria-labelledby={title ? `group-${title}` : undefined}>{children}</ul>
  </>
);

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
        <span>
          <strong>{who.name}</strong>
          <span class="hint">
            {who.role} of {who.organization}
          </span>
        </span>
        <Action kind="quiet" icon="logOut" isIcon run={signOut}>
          Sign out
        </Action>
      </div>
    );
  }
  const current = data?.find(({ person: one }) => one.endsWith(`.${who.user_id}`))?.person ?? "";
  return (
    <Select
      label="Act as"
      isBare
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

const capital = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1);

/** Under which start of the service its warning about the clock was read. */
const storedRead = "svc-read";

/** Problems of the whole page: no connection, an old version, or a clock that was moved before a restart. */
function Notices() {
  const lost = lostAt.value;
  const { started_at = "", clock_warning = null } = session.value ?? {};
  const [read, setRead] = useState(sessionStorage.getItem(storedRead));
  return (
    <div role="status" class="notices">
      {lost && (
        <p>
          The service has not answered since {lost.toLocaleTimeString([], { hour12: false })} on this machine. The page
          shows what it knew then, and will catch up by itself.
        </p>
      )}
      {clock_warning !== null && read !== started_at && (
        <p class="row told">
          {capital(clock_warning.split(",", 1)[0] ?? "")}, and is back to real time. Waiting work keeps its remaining
          time.
          <Button
            onClick={() => {
              sessionStorage.setItem(storedRead, started_at);
              setRead(started_at);
            }}
          >
            Got it
          </Button>
        </p>
      )}
      {isOld.value && (
        <p class="row">
          The service was upgraded. This tab still runs the previous version.
          <Button onClick={() => location.reload()}>Reload</Button>
        </p>
      )}
    </div>
  );
}
