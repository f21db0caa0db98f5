// Owns: the answers inside a report file, which stand in for a server.
import { keyOf } from "./key";

export interface Report {
  made: number; // Unix seconds
  version: string;
  title: string;
  answers: Record<string, unknown>; // by keyOf
}

const element = typeof document === "undefined" ? null : document.getElementById("tunefarm-report");

/** What `tuner report` put into this file; nothing: this page belongs to a server. */
export const report: Report | undefined = element ? (JSON.parse(element.textContent ?? "") as Report) : undefined;

/** Whether that can be asked: of a server everything, of a report what it holds. */
export const canAsk = (method: string, request: object): boolean => !report || keyOf(method, request) in report.answers;

/** The requests of that call which the report answers. */
export function answered<T>(method: string): T[] {
  const keys = Object.keys(report?.answers ?? {}).filter((key) => key.startsWith(`${method} `));
  return keys.map((key) => JSON.parse(key.slice(method.length + 1)) as T);
}
