#include "compiler/runtime/cpu_limit.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace {

constexpr size_t kPathBytes = 1024;

// How a file of the system's begins, as a zero-terminated text; false if there is none.
bool read_text(const char* path, char* text, size_t size) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t length = read(file, text, size - 1);
  close(file);
  text[length > 0 ? length : 0] = '\0';
  return length > 0;
}

// A number in FOLDER/NAME, or 0.
double number_in(const char* folder, const char* name) {
  char path[kPathBytes + 32], text[64];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return read_text(path, text, sizeof text) ? strtod(text, nullptr) : 0;
}

// The group's own quota: "max 100000" or "150000 100000" in cpu.max, or version 1's two files, of which -1 is
// no quota.
double quota_of(const char* folder) {
  char path[kPathBytes + 32], text[64];
  snprintf(path, sizeof path, "%s/cpu.max", folder);
  double quota = 0, period = 0;
  if (read_text(path, text, sizeof text)) {
    char* end = text;
    quota = strtod(text, &end);
    period = strtod(end, nullptr);
  } else {
    quota = number_in(folder, "cpu.cfs_quota_us");
    period = number_in(folder, "cpu.cfs_period_us");
  }
  return quota > 0 && period > 0 ? quota / period : 0;
}

// The least quota of the group at MOUNT/PATH and those around it. A container may see its own group as the
// mount, and then the path is not there.
double least_quota(const char* mount, const char* path) {
  char folder[kPathBytes];
  const int length = snprintf(folder, sizeof folder, "%s%s", mount, path);
  if (length < 0 || static_cast<size_t>(length) >= sizeof folder) return 0;
  double least = 0;
  for (;;) {
    const double quota = quota_of(folder);
    if (quota > 0 && (least == 0 || quota < least)) least = quota;
    char* slash = strrchr(folder + strlen(mount), '/');
    if (slash == nullptr) return least;
    *slash = '\0';
  }
}

// Whether `word` is one of the words in "cpu,cpuacct".
bool lists(const char* words, const char* word) {
  const size_t length = strlen(word);
  for (const char* at = words; (at = strstr(at, word)) != nullptr; at += length)
    if ((at == words || at[-1] == ',') && (at[length] == ',' || at[length] == '\0')) return true;
  return false;
}

}  // namespace

extern "C" {

double tf_cpu_quota(const char* root) {
  char name[kPathBytes], groups[4096];
  snprintf(name, sizeof name, "%s/proc/self/cgroup", root);
  if (!read_text(name, groups, sizeof groups)) return 0;
  double least = 0;
  const auto take = [&](const char* mount, const char* path) {
    snprintf(name, sizeof name, "%s/sys/fs/cgroup%s", root, mount);
    const double quota = least_quota(name, path);
    if (quota > 0 && (least == 0 || quota < least)) least = quota;
  };
  // Lines of NUMBER:CONTROLLERS:PATH; version 2 has no controllers.
  char* rest = groups;
  for (char* line; (line = strtok_r(rest, "\n", &rest)) != nullptr;) {
    char* controllers = strchr(line, ':');
    char* path = controllers == nullptr ? nullptr : strchr(controllers + 1, ':');
    if (path == nullptr) continue;
    *path++ = '\0';
    ++controllers;
    if (*controllers == '\0') take("", path);
    if (!lists(controllers, "cpu")) continue;
    take("/cpu", path);
    take("/cpu,cpuacct", path);
  }
  return least;
}

int32_t tf_usable_cpus(void) {
  cpu_set_t cpus;
  const int32_t allowed = sched_getaffinity(0, sizeof cpus, &cpus) == 0
                              ? CPU_COUNT(&cpus)
                              : static_cast<int32_t>(sysconf(_SC_NPROCESSORS_ONLN));
  const double quota = tf_cpu_quota("");
  if (quota > 0 && quota < allowed) {
    const auto whole = static_cast<int32_t>(quota);
    return whole + (quota > whole ? 1 : 0);
  }
  return allowed > 0 ? allowed : 1;
}

}  // extern "C"
