// Owns: what the farm tells of a device, in words. Does not know: how it looks.
import type { Device, Slot, WaitingRequest } from "../api/messages";
import { duration, enumWord } from "../format";
import type { Tone } from "../ui/parts";

export interface Word {
  tone: Tone;
  sign: string;
  text: string;
  why?: string;
}

/** The one word that matters most. */
export function stateOf(device: Device): Word {
  const since = Number(device.sinceMs) / 1000;
  if (!device.online) {
    const ends = device.leasesEndInMs === undefined ? "" : `; its leases end in ${duration(device.leasesEndInMs / 1000)}`;
    return { tone: "bad", sign: "✕", text: "away", why: `for ${duration(since)}${ends}` };
  }
  if (device.health === "HEALTH_QUARANTINED") return { tone: "bad", sign: "!", text: "quarantined", why: device.healthReason };
  if (device.stopping) return { tone: "warn", sign: "◌", text: "stopping", why: "its agent is about to go" };
  if (device.admission !== "ADMISSION_OPEN") return { tone: "warn", sign: "⊘", text: enumWord(device.admission, "ADMISSION_"), why: "no new leases" };
  if (device.health !== "HEALTH_HEALTHY") return { tone: "warn", sign: "!", text: enumWord(device.health, "HEALTH_"), why: device.healthReason };
  const held = device.slots.filter((slot) => isHeld(slot)).length;
  return held > 0 ? { tone: "info", sign: "●", text: "measuring", why: `online for ${duration(since)}` } : { tone: "good", sign: "✓", text: "free", why: `online for ${duration(since)}` };
}

export const isHeld = (slot: Slot): boolean => slot.lease !== undefined || slot.holder !== "";

/** The last temperature that the device told; nothing: it tells none. */
export function temperatureOf(device: Device): number | undefined {
  const latest = device.slots
    .map((slot) => slot.golden?.samples.at(-1))
    .filter((sample) => sample !== undefined && (sample.device?.temperatureC ?? 0) > 0)
    .sort((a, b) => Number(a!.ageMs) - Number(b!.ageMs))[0];
  return latest?.device?.temperatureC;
}

/** Why a request waits, by what the farm shows of the devices with its key. */
export function whyItWaits(request: WaitingRequest, devices: readonly Device[]): string {
  const fitting = devices.filter((device) => device.deviceKey === request.deviceKey);
  if (fitting.length === 0) return "no device has this key now";
  const counts = new Map<string, number>();
  const add = (word: string) => counts.set(word, (counts.get(word) ?? 0) + 1);
  for (const device of fitting) {
    const state = stateOf(device).text;
    if (state !== "free" && state !== "measuring" && state !== "suspect" && state !== "probation") add(state);
    else if (device.reservedFor && device.reservedFor !== request.user) add(`reserved for ${device.reservedFor}`);
    else if (device.slots.every(isHeld)) add("held by others");
    else add("free");
  }
  const free = counts.get("free") ?? 0;
  const told = [...counts].map(([word, of]) => `${of} ${word}`).join(", ");
  if (fitting.length === 1 && free === 0) return `the only device with this key is ${told.slice(2)}`;
  return free > 0 ? `${told}: it needs more than these offer, its quota is used, or its turn is next` : `of ${fitting.length} devices: ${told}`;
}
