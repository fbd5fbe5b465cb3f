import { effect, signal } from "@preact/signals";
import { Select } from "./controls.tsx";
import { Icon } from "./icon.tsx";

export const themes = ["system", "light", "dark"] as const;
const stored = "svc-theme";
/** The colours of the page. The browser remembers them. */
export const theme = signal<string>(localStorage.getItem(stored) ?? "system");
effect(() => {
  if (theme.value === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme.value;
  localStorage.setItem(stored, theme.value);
});

export const Theme = () => (
  <span class="menu" title={`Theme: ${theme.value}`}>
    <Icon of="theme" />
    <Select
      label="Theme"
      isBare
      value={theme.value}
      options={themes.map((one) => [one, one])}
      onChange={(one) => {
        theme.value = one;
      }}
    />
  </span>
);
