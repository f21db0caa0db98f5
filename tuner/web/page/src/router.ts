// Owns: what the address after '#' says. The paths are the page's public addresses: people keep and send them.
import { signal } from "@preact/signals";

export interface Route {
  page: "jobs" | "job" | "network" | "kernel" | "devices" | "records" | "unknown";
  id: string; // of the job or the kernel
  query: URLSearchParams;
}

export function parse(hash: string): Route {
  const [path, search] = hash.replace(/^#\/?/, "").split("?", 2);
  const [first, id = "", rest] = path.split("/").map(decodeURIComponent);
  const query = new URLSearchParams(search);
  if (first === "" || (first === "jobs" && !id)) return { page: "jobs", id: "", query };
  if (first === "jobs" && !rest) return { page: "job", id, query };
  if (first === "jobs" && rest === "network") return { page: "network", id, query };
  if (first === "kernels" && id) return { page: "kernel", id, query };
  if (first === "devices" || first === "records") return { page: first, id: "", query };
  return { page: "unknown", id: "", query };
}

export const route = signal<Route>(parse(location.hash));
addEventListener("hashchange", () => (route.value = parse(location.hash)));

export const jobLink = (id: string | number): string => `#/jobs/${id}`;
export const networkLink = (id: string | number): string => `#/jobs/${id}/network`;
export const kernelLink = (id: string, job?: string): string => `#/kernels/${id}${job && job !== "0" ? `?job=${job}` : ""}`;

/** Changes what is after '?' without a step in the history, so that a reload shows the same. */
export function setQuery(changes: Record<string, string>): void {
  const { query } = route.value;
  for (const [name, value] of Object.entries(changes)) value ? query.set(name, value) : query.delete(name);
  const path = location.hash.split("?", 1)[0] || "#/jobs";
  history.replaceState(null, "", query.size ? `${path}?${query}` : path);
}
