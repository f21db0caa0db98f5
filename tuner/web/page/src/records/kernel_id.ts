// Owns: the name of a kernel in the service's calls, from its key: as report.proto says.
import type { Problem } from "./lines";

/** Nothing where the browser has no SHA-256: on a page that came unencrypted from another machine. */
export async function kernelIdOf(of: Problem): Promise<string | undefined> {
  if (!globalThis.crypto?.subtle) return undefined;
  const key = [of.workload, of.binding, of.in_layouts, of.out_layouts, of.target, of.threads, of.reuse_distance_bytes ?? 0].join("|");
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key)));
  return Array.from(digest.subarray(0, 8), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
