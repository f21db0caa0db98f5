// Owns: who the page is to the service, and what it may do there.
import { signal } from "@preact/signals";
import { type Session, whoAmI } from "./api/client";
import { report } from "./api/embedded";

export const session = signal<Session | undefined>(undefined);
export const sessionError = signal<Error | undefined>(undefined);

export async function openSession(): Promise<void> {
  if (report) return;
  try {
    session.value = await whoAmI();
    sessionError.value = undefined;
  } catch (error) {
    session.value = undefined;
    sessionError.value = error as Error;
  }
}

// The service decides, by the table of rpc/access; this only spares people buttons that would be refused.
const submitters = ["user", "tuner", "admin"];
const changers = [...submitters, "device-owner"];

const allowed = (roles: string[]): boolean =>
  session.value !== undefined && (!session.value.secured || roles.includes(session.value.role));

export const maySubmit = (): boolean => allowed(submitters);

/** Whether a job of that submitter may be paused, resumed and cancelled: who is no owner or admin changes their own. */
export function mayChange(submitter: string): boolean {
  if (!allowed(changers)) return false;
  const { secured, role, name } = session.value!;
  return !secured || role === "admin" || role === "device-owner" || submitter === "" || submitter === `${role} ${name}`;
}
