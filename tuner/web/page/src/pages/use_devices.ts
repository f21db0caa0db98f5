// Owns: all devices of the farm, page by page, asked again while they are shown.
import { useEffect, useState } from "preact/hooks";
import { call } from "../api/client";
import type { Device } from "../api/messages";

export function useDevices(everyMs: number): { devices?: Device[]; error?: Error } {
  const [state, setState] = useState<{ devices?: Device[]; error?: Error }>({});
  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout>;
    const run = async () => {
      try {
        if (!document.hidden || !state.devices) {
          const devices: Device[] = [];
          for (let pageToken = ""; ; ) {
            const page = await call("Operators/ListDevices", { pageToken }, abort.signal);
            devices.push(...page.devices);
            pageToken = page.nextPageToken;
            if (!pageToken) break;
          }
          setState({ devices });
        }
      } catch (error) {
        if (!abort.signal.aborted) setState((old) => ({ ...old, error: error as Error }));
      }
      if (!abort.signal.aborted) timer = setTimeout(run, everyMs);
    };
    void run();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [everyMs]);
  return state;
}
