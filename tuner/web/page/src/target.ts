// Owns: what the text of a target tells. Does not know: kernels.

/** Whose kernels have the threads of their schedules, and no number of CPU threads. */
export const isGpu = (target: string): boolean => /^(opencl|cuda)\b/.test(target);
