// Owns: how wide an element is, for what is drawn to its size.
import { useLayoutEffect, useState } from "preact/hooks";

/** A ref to put on the element; its width in CSS pixels, 0 before it is laid out; the element. */
export function useWidth<T extends HTMLElement>() {
  const [element, setElement] = useState<T | null>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    if (!element) return;
    const measure = () => setWidth(Math.floor(element.clientWidth));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [element]);
  return [setElement, width, element] as const;
}
