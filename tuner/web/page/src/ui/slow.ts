// Owns: values that are shown less often than they change.
import { useEffect, useRef, useState } from "preact/hooks";

/** The latest value, anew at most once in so many milliseconds. */
export function useSlow<T>(value: T, everyMs: number): T {
  const [shown, setShown] = useState(value);
  const latest = useRef(value);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  latest.current = value;
  useEffect(() => {
    if (shown === value || timer.current !== undefined) return;
    timer.current = setTimeout(() => {
      timer.current = undefined;
      setShown(latest.current);
    }, everyMs);
  }, [value, shown]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return shown;
}
