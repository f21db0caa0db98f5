#pragma once
// Owns: isolating the helper process, once for all children that it will fork: an identity without rights,
// separate namespaces, an empty file system. Does not know: children.

#include "device_agent/worker/sandbox/capability.h"

namespace tf::worker::sandbox {

// The part of the file system that remains visible in a mount namespace.
enum class FileSystem {
  kNone,  // a read-only root folder and /proc
  // All files, because drivers need them, but with a private /tmp that keeps only the folders of
  // LD_LIBRARY_PATH in it.
  kPrivateTmp,
};

// Call it once, in a process with one thread. Enters each namespace that is not left out, and records the
// errno of each that is not available. With a pid namespace it returns in the namespace's first process,
// which is a child of the caller: if the child dies, all processes in the namespace die. The child dies with
// the caller, which waits for it and exits. Afterwards the process is nobody if it was root, has no
// capability (7), and can gain none. With a mount namespace it sees only the files that `left` says. Open
// files stay open.
void enter_namespaces(CapabilitySet without, Hello* hello, FileSystem left = FileSystem::kNone);

}  // namespace tf::worker::sandbox
