// Starts the page.
import { render } from "preact";
import { App } from "./app";
import { apply } from "./theme";
import "uplot/dist/uPlot.min.css";
import "./theme.css";
import "./plots/plots.css";

apply();
render(<App />, document.getElementById("app")!);
