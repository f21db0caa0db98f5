// Owns: answers that a component shows: asked once, asked again while it is shown, or streamed.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiError, type Method, type Reply, type Request, call, stream } from "./client";
import { report } from "./embedded";
import { keyOf } from "./key";

export interface Answer<T> {
  value?: T; // the last one; stays while another is asked for
  error?: Error; // of the last try
  again: () => void;
}

/**
 * The answer to a call, asked again after each `everyMs` (0: only by `again`) unless the page is hidden. No request: nothing
 * is asked.
 */
export function useAnswer<M extends Method>(method: M, request: Request<M> | undefined, everyMs = 0): Answer<Reply<M>> {
  const key = request && keyOf(method, request);
  const [state, setState] = useState<{ key?: string; value?: Reply<M>; error?: Error }>({});
  const trigger = useRef<() => void>(() => {});
  useEffect(() => {
    if (!request) return;
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let busy = false;
    let wanted = false;
    const run = async () => {
      clearTimeout(timer);
      if (busy) {
        wanted = true;
        return;
      }
      busy = true;
      try {
        const value = await call(method, request, abort.signal);
        if (!abort.signal.aborted) setState({ key, value });
      } catch (error) {
        if (!abort.signal.aborted) setState((old) => ({ key, value: old.key === key ? old.value : undefined, error: error as Error }));
      }
      busy = false;
      if (abort.signal.aborted) return;
      if (wanted) {
        wanted = false;
        void run();
      } else if (everyMs > 0 && !report) {
        timer = setTimeout(tick, everyMs);
      }
    };
    const tick = () => (document.hidden ? void (timer = setTimeout(tick, everyMs)) : void run());
    trigger.current = () => void run();
    void run();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [key, everyMs]);
  const again = useCallback(() => trigger.current(), []);
  return { value: state.key === key ? state.value : undefined, error: state.key === key ? state.error : undefined, again };
}

const reconnectMs = 2000;
const hopeless = ["NOT_FOUND", "INVALID_ARGUMENT", "PERMISSION_DENIED", "UNIMPLEMENTED"];

/** Calls `take` with each message of a stream, which is opened again if it breaks; tells what is wrong meanwhile. */
export function useStream<M extends Method>(method: M, request: Request<M> | undefined, take: (message: Reply<M>) => void): Error | undefined {
  const [error, setError] = useState<Error>();
  const latest = useRef(take);
  latest.current = take;
  const key = request && keyOf(method, request);
  useEffect(() => {
    if (!request || report) return;
    const abort = new AbortController();
    const run = async () => {
      while (!abort.signal.aborted) {
        try {
          for await (const message of stream(method, request, abort.signal)) {
            setError(undefined);
            latest.current(message);
          }
          return; // it has said all
        } catch (failure) {
          if (abort.signal.aborted) return;
          setError(failure as Error);
          if (failure instanceof ApiError && hopeless.includes(failure.code)) return;
          await new Promise((resolve) => setTimeout(resolve, reconnectMs));
        }
      }
    };
    void run();
    return () => abort.abort();
  }, [key]);
  return error;
}
