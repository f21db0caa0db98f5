// Owns: one uPlot in a page: it follows the width, the theme and its data, is read by keyboard, and tells where the cursor is.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { colour, shade } from "../theme";
import { useWidth } from "../ui/width";

export type Options = Omit<uPlot.Options, "width" | "height">;

/** What all axes have in common. */
export function axis(more: uPlot.Axis): uPlot.Axis {
  return {
    stroke: () => colour("muted"),
    font: "11px system-ui, sans-serif",
    grid: { stroke: () => colour("line"), width: 1 },
    ticks: { show: false },
    gap: 6,
    ...more,
  };
}

export interface CanvasPlotProps {
  label: string; // what it shows, for who does not see it
  options: () => Options; // asked again when `shape` changes
  shape: string;
  data: uPlot.AlignedData;
  height: number;
  onCursor?: (index: number | null) => void;
  onPlot?: (plot: uPlot) => void;
  children?: ComponentChildren;
}

export function CanvasPlot(props: CanvasPlotProps) {
  const [ref, width, place] = useWidth<HTMLDivElement>();
  const plot = useRef<uPlot | undefined>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const shadeNow = shade.value;

  useEffect(() => {
    if (!place || width === 0) return;
    const options = props.options();
    const drawn = new uPlot(
      {
        padding: [10, 20, 0, 0],
        ...options,
        width,
        height: props.height,
        legend: { show: false },
        hooks: {
          ...options.hooks,
          setCursor: [...(options.hooks?.setCursor ?? []), (u) => latest.current.onCursor?.(u.cursor.idx ?? null)],
        },
      },
      latest.current.data,
      place,
    );
    plot.current = drawn;
    latest.current.onPlot?.(drawn);
    return () => {
      drawn.destroy();
      plot.current = undefined;
    };
  }, [props.shape, shadeNow, width > 0, place]);

  useEffect(() => {
    if (plot.current && width > 0) plot.current.setSize({ width, height: props.height });
  }, [width, props.height]);

  useEffect(() => {
    plot.current?.setData(props.data);
  }, [props.data]);

  const onKeyDown = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity }[event.key];
    const drawn = plot.current;
    if (by === undefined || !drawn) return;
    event.preventDefault();
    const xs = drawn.data[0];
    const index = Math.min(xs.length - 1, Math.max(0, (drawn.cursor.idx ?? 0) + by));
    drawn.setCursor({ left: drawn.valToPos(xs[index], "x"), top: drawn.over.clientHeight / 2 });
  };

  return (
    <div class="plot" role="group" aria-label={`Plot. ${props.label}`} tabIndex={0} onKeyDown={onKeyDown}>
      <div ref={ref} style={{ height: `${props.height}px` }} aria-hidden="true" />
      {props.children}
    </div>
  );
}
