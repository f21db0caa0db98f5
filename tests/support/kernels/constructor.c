/* What a shared object does while it is loaded, before anyone calls it; TF_CONSTRUCTOR says what. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static volatile int never;

__attribute__((constructor)) static void segfaults(void) {
  if (TF_CONSTRUCTOR == 1) *(volatile int*)16 = 1;
}

__attribute__((constructor)) static void exits(void) {
  if (TF_CONSTRUCTOR == 2) _exit(0);
}

__attribute__((constructor)) static void spins(void) {
  while (TF_CONSTRUCTOR == 3 && !never) {
  }
}

__attribute__((constructor)) static void closes_descriptors(void) {
  for (int fd = 0; TF_CONSTRUCTOR == 4 && fd < 1024; ++fd) close(fd);
}

/* Dies if it can. */
__attribute__((constructor)) static void reads_files(void) {
  if (TF_CONSTRUCTOR != 5) return;
  if (open("/etc/passwd", O_RDONLY) >= 0 || open("/", O_RDONLY | O_DIRECTORY) >= 0) abort();
  if (open("/proc/self/mem", O_RDWR) >= 0 || open("/proc/self/environ", O_RDONLY) >= 0) abort();
}
