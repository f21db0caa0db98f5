// Owns: calls of the service's HTTP API. Does not know: pages.
import { signal } from "@preact/signals";
import { report } from "./embedded";
import { keyOf } from "./key";
import type { Calls, JobSpec, SubmitReply } from "./messages";
import { events } from "./stream";

export type Method = keyof Calls;
export type Request<M extends Method> = Partial<Calls[M]["request"]>;
export type Reply<M extends Method> = Calls[M]["reply"];

/** A refusal, as the service words it. Code: a gRPC status' name. */
export class ApiError extends Error {
  constructor(readonly code: string, message: string) {
    super(message);
  }
}

export interface Session {
  secured: boolean;
  role: string;
  name: string;
  version: string;
  expiresUnixS?: number;
}

const tokenKey = "tunefarm-token";

/** Whether the service wants a token that this tab doesn't have, and why. */
export const wantsToken = signal<string | undefined>(undefined);

/** Kept until the tab is closed; never in a URL or a cookie. */
export function setToken(token: string): void {
  if (token) sessionStorage.setItem(tokenKey, token);
  else sessionStorage.removeItem(tokenKey);
}

export const hasToken = (): boolean => sessionStorage.getItem(tokenKey) !== null;

function headers(more: Record<string, string>): Record<string, string> {
  const token = sessionStorage.getItem(tokenKey);
  return token ? { ...more, Authorization: `Bearer ${token}` } : more;
}

async function refusal(response: Response): Promise<ApiError> {
  const text = await response.text();
  try {
    const body = JSON.parse(text) as { code: string; message: string };
    if (body.message) return new ApiError(body.code, body.message);
  } catch {
    // It is a proxy's page, say: its status line has to do.
  }
  return new ApiError("UNKNOWN", `the server answered ${response.status} ${response.statusText}`.trim());
}

async function ask(path: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(`api/v1/${path}`, { ...init, cache: "no-store", credentials: "omit" });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new ApiError("UNAVAILABLE", "the tuner does not answer");
  }
  if (response.ok) return response;
  const error = await refusal(response);
  if (response.status === 401) wantsToken.value = hasToken() ? error.message : "";
  throw error;
}

/** One call. Throws ApiError, or an AbortError by its signal. */
export async function call<M extends Method>(method: M, request: Request<M> = {}, abort?: AbortSignal): Promise<Reply<M>> {
  if (report) {
    const answer = report.answers[keyOf(method, request)];
    if (answer === undefined) throw new ApiError("NOT_FOUND", "this report does not hold that; `tuner serve --http` shows it");
    return answer as Reply<M>;
  }
  const body = JSON.stringify(request);
  const response = await ask(method, { method: "POST", body, signal: abort, headers: headers({ "Content-Type": "application/json" }) });
  return (await response.json()) as Reply<M>;
}

/** Each message of a call that streams, until it ends. Throws as `call` does. */
export async function* stream<M extends Method>(method: M, request: Request<M>, abort: AbortSignal): AsyncGenerator<Reply<M>> {
  const response = await ask(method, {
    method: "POST",
    body: JSON.stringify(request),
    signal: abort,
    headers: headers({ "Content-Type": "application/json", Accept: "text/event-stream" }),
  });
  for await (const event of events(response.body!)) {
    if (event.name === "end") return;
    const data: unknown = JSON.parse(event.data);
    if (event.name === "error") {
      const { code, message } = data as { code: string; message: string };
      throw new ApiError(code, message);
    }
    yield data as Reply<M>;
  }
}

/** Sends a model to be tuned. A secured tuner knows the submitter by the token, and is told none. */
export async function submit(spec: Partial<JobSpec>, submitter: string, model: Blob, abort?: AbortSignal): Promise<SubmitReply> {
  const query = new URLSearchParams({ spec: JSON.stringify(spec), ...(submitter && { submitter }) });
  const response = await ask(`Tuner/Submit?${query}`, {
    method: "POST",
    body: model,
    signal: abort,
    headers: headers({ "Content-Type": "application/octet-stream" }),
  });
  return (await response.json()) as SubmitReply;
}

/** Who this page is to the service. */
export async function whoAmI(): Promise<Session> {
  const response = await ask("session", { headers: headers({}) });
  return (await response.json()) as Session;
}
