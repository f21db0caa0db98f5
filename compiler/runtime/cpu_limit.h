#ifndef TF_RUNTIME_CPU_LIMIT_H
#define TF_RUNTIME_CPU_LIMIT_H
/* Owns: how many CPUs this process may use: its affinity, and the time that a container gives it. Needs libc
 * only. */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The CPUs that the quotas of this process's control group and those around it are worth, as 1.5, by cpu.max
 * (version 2) or cpu.cfs_quota_us (version 1); 0 if there is no quota. `root` stands before the names of the
 * system's files: "" but in tests. */
double tf_cpu_quota(const char* root);

/* How many threads can run at a time: the CPUs of the process's affinity, at most as many as its quota is
 * worth, rounded up; at least 1. */
int32_t tf_usable_cpus(void);

#ifdef __cplusplus
}
#endif
#endif
