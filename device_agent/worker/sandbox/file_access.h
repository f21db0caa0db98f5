#pragma once
// Owns: closing the file system to a process (Landlock). Does not know: who asks.

namespace tf::worker::sandbox {

// From now on, the calling process and all processes that it forks can open or create no file of any file
// system. They cannot reach other processes either: not by tracing and, since Linux 6.12, not by signals.
// Open files and memory files remain usable. The process must have one thread and no way to gain privileges.
// Returns 0, or the errno.
int forbid_files();

// The same for processes with drivers: they can still read files, start programs and use devices, and do
// everything below `except`. Returns 0, or the errno.
int forbid_writing(const char* except);

}  // namespace tf::worker::sandbox
