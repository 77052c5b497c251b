// Light or dark: what the system says, until the reader chooses.
import { useEffect, useState } from "preact/hooks";

export type Theme = "light" | "dark";

const KEY = "headwater-theme";

function stored(): Theme | null {
  try {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : null;
  } catch {
    return null; // A file in a sandbox has no storage.
  }
}

const system = matchMedia("(prefers-color-scheme: dark)");

/** The present theme, and a function that changes it. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState<Theme>(() => stored() ?? (system.matches ? "dark" : "light"));
  useEffect(() => {
    document.documentElement.dataset["theme"] = theme;
  }, [theme]);
  useEffect(() => {
    const onChange = () => stored() ?? setTheme(system.matches ? "dark" : "light");
    system.addEventListener("change", onChange);
    return () => system.removeEventListener("change", onChange);
  }, []);
  const choose = (chosen: Theme) => {
    try {
      localStorage.setItem(KEY, chosen);
    } catch {
      // The choice then lasts as long as the page.
    }
    setTheme(chosen);
  };
  return [theme, choose];
}
