// Starts the page: reads its data and draws them.
import { render } from "preact";
import { App } from "./App";
import { loadPage } from "./state/load";
import { keepLinksHere } from "./state/route";
import "./style/base.css";
import "./style/frame.css";
import "./style/views.css";
import "./style/pictures.css";

const app = document.getElementById("app");

async function start(): Promise<void> {
  if (!app) return;
  try {
    const page = await loadPage();
    document.getElementById("headwater-text")?.remove();
    render(<App page={page} />, app);
    keepLinksHere();
  } catch (error) {
    render(
      <main>
        <h1>This page cannot be shown</h1>
        <p>{error instanceof Error ? error.message : String(error)}</p>
      </main>,
      app,
    );
  }
}

void start();
