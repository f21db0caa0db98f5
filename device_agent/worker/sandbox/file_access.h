#pragma once
// Owns: closing the file system to a process (Landlock). Does not know: who asks.

namespace tf::worker::sandbox {

// From here on the calling process, which must have one thread and no way to gain privileges, and all that it
// forks open no file of any file system, make none, and reach no other process: neither by tracing it nor,
// since Linux 6.12, by signals. Files that are open, and memory files, stay open to it. 0, or the errno.
int forbid_files();

// The same, but files are read and programs started as before, devices are used, and below `except` all is allowed: for
// drivers. 0, or the errno.
int forbid_writing(const char* except);

}  // namespace tf::worker::sandbox
