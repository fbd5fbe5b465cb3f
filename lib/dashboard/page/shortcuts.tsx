import { signal } from "@preact/signals";
import { Fragment } from "preact";
import { useLayoutEffect } from "preact/hooks";
import { session } from "./api.ts";
import { toggleAxis } from "./bottom-bar.tsx";
import { Button } from "./controls.tsx";
import { isDrawerOpen } from "./drawer.tsx";
import { Icon } from "./icon.tsx";
import { Modal } from "./modal.tsx";
import { isPaletteOpen } from "./palette.tsx";

const isHelpOpen = signal(false);
const closeHelp = () => {
  isHelpOpen.value = false;
};

const command = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘" : "Ctrl";
const isDev = () => session.value?.mode === "dev";
const shortcuts = () => [
  [`${command} K`, "Go to a page, a project or an identifier, or do what this page offers"],
  ["?", "Show these shortcuts"],
  [".", "Show the calls of this page, and close them"],
  ...(isDev() ? [["t", "Show the time axis, and close it"] as const] : []),
  ["/", "Search on this page"],
  ["Esc", "Close what is open"],
  ["Tab", "Go to the next link, button or field"],
];

const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement &&
  target.closest("input:not([type='radio'],[type='checkbox']), textarea, select") !== null;

function onKey(event: KeyboardEvent): void {
  const { key, metaKey, ctrlKey, altKey } = event;
  if ((metaKey || ctrlKey) && !altKey && key.toLowerCase() === "k") {
    event.preventDefault();
    if (!document.querySelector("dialog[open]")) isPaletteOpen.value = true;
    return;
  }
  if (metaKey || ctrlKey || altKey || isTyping(event.target) || document.querySelector("dialog[open]")) return;
  if (key === "?") isHelpOpen.value = true;
  else if (key === ".") isDrawerOpen.value = !isDrawerOpen.value;
  else if (key === "t" && isDev()) toggleAxis();
  else if (key === "/") {
    const field = document.querySelector<HTMLElement>("main input[type='search'], main search :is(input, select)");
    if (!field) return;
    field.focus();
  } else return;
  event.preventDefault();
}

/** The button that opens the palette. */
export const Find = () => (
  <button type="button" class="find" onClick={() => (isPaletteOpen.value = true)}>
    <Icon of="search" />
    Go to
    <span class="key" aria-hidden="true">
      {command} K
    </span>
  </button>
);

/** The keys that work on every page, and buttons with the same effect. */
export function Shortcuts() {
  // Before the page is painted: someone may press a key as soon as they see it.
  useLayoutEffect(() => {
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  return (
    <>
      <Button kind="quiet" icon="terminal" isIcon onClick={() => (isDrawerOpen.value = !isDrawerOpen.value)}>
        Calls
      </Button>
      <Button kind="quiet" icon="keyboard" isIcon onClick={() => (isHelpOpen.value = true)}>
        Help
      </Button>
      {isHelpOpen.value && <Help />}
    </>
  );
}

function Help() {
  return (
    <Modal label="Shortcuts" close={closeHelp}>
      <h2>Shortcuts</h2>
      <dl class="keys">
        {shortcuts().map(([key, text]) => (
          <Fragment key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{text}</dd>
          </Fragment>
        ))}
      </dl>
      <div class="row end">
        <Button onClick={closeHelp}>Close</Button>
      </div>
    </Modal>
  );
}
