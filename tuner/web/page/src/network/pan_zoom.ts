// Owns: moving and scaling a drawing by pointer, pinch, wheel and keyboard, without rendering anything again.

export interface View {
  x: number;
  y: number;
  scale: number;
}

const least = 0.04;
const most = 3;

export class PanZoom {
  private view: View = { x: 0, y: 0, scale: 1 };
  private readonly pointers = new Map<number, { x: number; y: number }>();
  private moved = false;
  private readonly ended = new AbortController();

  constructor(private readonly frame: HTMLElement, private readonly drawing: SVGGElement, private readonly onScale: (scale: number) => void) {
    const { signal } = this.ended;
    frame.addEventListener("pointerdown", (event) => this.down(event), { signal });
    frame.addEventListener("pointermove", (event) => this.move(event), { signal });
    for (const name of ["pointerup", "pointercancel"] as const) frame.addEventListener(name, (event) => void this.pointers.delete(event.pointerId), { signal });
    frame.addEventListener("wheel", (event) => this.wheel(event), { signal, passive: false });
    frame.addEventListener("keydown", (event) => this.key(event), { signal });
    // What ends a drag is no click on what lies below.
    frame.addEventListener("click", (event) => this.moved && event.stopPropagation(), { signal, capture: true });
  }

  destroy(): void {
    this.ended.abort();
  }

  show(view: View): void {
    this.view = { ...view, scale: Math.min(most, Math.max(least, view.scale)) };
    this.drawing.setAttribute("transform", `translate(${this.view.x} ${this.view.y}) scale(${this.view.scale})`);
    this.onScale(this.view.scale);
  }

  /** By this factor, around a point of the frame; its middle unless said. */
  zoom(by: number, x = this.frame.clientWidth / 2, y = this.frame.clientHeight / 2): void {
    const scale = Math.min(most, Math.max(least, this.view.scale * by));
    const real = scale / this.view.scale;
    this.show({ x: x - (x - this.view.x) * real, y: y - (y - this.view.y) * real, scale });
  }

  pan(dx: number, dy: number): void {
    this.show({ ...this.view, x: this.view.x + dx, y: this.view.y + dy });
  }

  private at(event: PointerEvent | WheelEvent): { x: number; y: number } {
    const box = this.frame.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  private down(event: PointerEvent): void {
    if (event.button !== 0) return;
    this.pointers.set(event.pointerId, this.at(event));
    this.moved = false;
  }

  private move(event: PointerEvent): void {
    const from = this.pointers.get(event.pointerId);
    if (!from) return;
    const to = this.at(event);
    if (this.pointers.size === 1) {
      if (!this.moved && Math.hypot(to.x - from.x, to.y - from.y) < 4) return;
      if (!this.moved) this.frame.setPointerCapture(event.pointerId);
      this.moved = true;
      this.pan(to.x - from.x, to.y - from.y);
    } else if (this.pointers.size === 2) {
      const other = [...this.pointers].find(([id]) => id !== event.pointerId)![1];
      this.moved = true;
      this.zoom(Math.hypot(to.x - other.x, to.y - other.y) / Math.max(1, Math.hypot(from.x - other.x, from.y - other.y)), other.x, other.y);
    }
    this.pointers.set(event.pointerId, to);
  }

  private wheel(event: WheelEvent): void {
    if (!event.ctrlKey && !event.metaKey) return; // the page scrolls
    event.preventDefault();
    const { x, y } = this.at(event);
    this.zoom(Math.exp(-event.deltaY * 0.004), x, y);
  }

  private key(event: KeyboardEvent): void {
    if (event.target !== this.frame) return;
    const step = 60;
    const moves: Record<string, [number, number]> = { ArrowLeft: [step, 0], ArrowRight: [-step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
    if (moves[event.key]) this.pan(...moves[event.key]);
    else if (event.key === "+" || event.key === "=") this.zoom(1.25);
    else if (event.key === "-") this.zoom(0.8);
    else return;
    event.preventDefault();
  }
}
