// Owns: dark or light: as the system says, or as the switch was set; and the theme's colours for canvases.
import { signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";
const key = "tunefarm-theme";

function stored(): Theme {
  try {
    const value = localStorage.getItem(key);
    return value === "light" || value === "dark" ? value : "system";
  } catch {
    return "system"; // a file opened from disk may have no storage
  }
}

export const theme = signal<Theme>(stored());
/** Grows with each change of colours, so that canvases are drawn again. */
export const shade = signal(0);

export function setTheme(to: Theme): void {
  theme.value = to;
  try {
    if (to === "system") localStorage.removeItem(key);
    else localStorage.setItem(key, to);
  } catch {
    // Without storage the choice lasts as long as the page.
  }
  apply();
}

export function apply(): void {
  if (theme.value === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
  colours.clear();
  shade.value++;
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply);

const colours = new Map<string, string>();

/** What a custom property of theme.css is now, as a colour that a canvas takes. */
export function colour(name: string): string {
  let found = colours.get(name);
  if (!found) {
    const probe = document.createElement("span");
    probe.style.color = `var(--${name})`;
    document.body.append(probe);
    found = getComputedStyle(probe).color;
    probe.remove();
    colours.set(name, found);
  }
  return found;
}
