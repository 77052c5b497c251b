// The data of the page, for every component.
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Page } from "../model";

export const PageData = createContext<Page | null>(null);

export function usePage(): Page {
  const page = useContext(PageData);
  if (!page) throw new Error("components are drawn inside PageData");
  return page;
}
