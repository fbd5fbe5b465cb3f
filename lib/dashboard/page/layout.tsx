import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import {
  actAs,
  advanceClock,
  type ClockState,
  loadSession,
  people,
  person,
  readClock,
  session,
  signOut,
} from "./api.ts";
import { Action, Select } from "./controls.tsx";
import { Drawer } from "./drawer.tsx";
import { hearTime, isLive, serviceTime, tellAll, useRead } from "./live.ts";
import { Palette } from "./palette.tsx";
import { href, place } from "./router.ts";
import { Shortcuts } from "./shortcuts.tsx";

/** The pages of the rail. */
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
  ["/system", "System"],
] as const;

/** In a narrow window the rail is a row that scrolls: the page that is open stays in sight. */
function useCurrentInSight() {
  const { path } = place.value;
  useEffect(() => {
    document.querySelector(".rail [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [path]);
}

export const Layout = ({ children }: { readonly children: ComponentChildren }) => {
  useCurrentInSight();
  return (
    <div class="frame">
      <a class="skip" href="#content">
        Skip to the page
      </a>
      <nav class="rail" aria-label="Pages">
        <div class="brand">svc-server</div>
        <ul>
          {pages.map(([path, text]) => {
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
        {children}
      </div>
      <Drawer />
      <Palette pages={pages} />
      {session.value?.mode === "dev" && <ClockBar />}
    </div>
  );
};

/** In `start` who is signed in; in `dev` the choice of the person for whom the page acts. */
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
        tellAll();
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

const steps = ["10s", "2m", "2h"] as const;

/** The service's clock (`dev`): it shows the time, and a manual one is moved by it. */
function ClockBar() {
  const [clock, setClock] = useState<ClockState>();
  const [ran, setRan] = useState<number>();
  const [, tick] = useState(0);
  const isManual = clock?.mode === "manual";
  useRead(
    "clock",
    async () => {
      const state = await readClock();
      hearTime(state.now);
      setClock(state);
    },
    () => false,
  );
  useEffect(() => {
    if (clock?.mode !== "real") return;
    const timer = setInterval(() => tick((n) => n + 1), 1000);
    return () => clearInterval(timer);
  }, [clock?.mode]);
  const heard = serviceTime.value;
  const passed = clock?.mode === "real" && heard ? performance.now() - heard.heard : 0;
  const now = heard && new Date(heard.now + passed).toISOString();
  const advance = (by: string) => async () => {
    const done = await advanceClock(by);
    hearTime(done.now);
    setRan(done.ran);
  };
  const reason = isManual ? undefined : "The clock runs by itself. Start the emulator with --clock manual to move it.";
  return (
    <aside class="clock" aria-label="Clock">
      <span class="clock-now">
        <time dateTime={now}>{now?.slice(0, 19).replace("T", " ")}</time> UTC
      </span>
      <span class="hint">{clock?.mode}</span>
      <span class="row">
        {steps.map((by) => (
          <Action key={by} reason={reason} run={advance(by)}>
            {`+${by}`}
          </Action>
        ))}
      </span>
      {ran !== undefined && <span class="hint" role="status">{`${ran} ${ran === 1 ? "job" : "jobs"} ran`}</span>}
    </aside>
  );
}
