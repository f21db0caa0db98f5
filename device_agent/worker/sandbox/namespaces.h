#pragma once
// Owns: taking the helper process away from the system, once for all the children that it will fork: an
// identity without rights, namespaces of its own, a file system with nothing in it. Does not know: children.

#include "device_agent/worker/sandbox/capability.h"

namespace tf::worker::sandbox {

// What is left of the file system in a mount namespace.
enum class FileSystem {
  kNone,  // a read-only root folder and /proc
  // All of it, as drivers need their files, with a /tmp of its own, where folders of LD_LIBRARY_PATH are as they were.
  kPrivateTmp,
};

// Called once, by a process of one thread. Enters each namespace that is not left out and notes the errno of
// those that cannot be had. With a process namespace it returns in its first process: a child, with which
// everything in the namespace dies, and which dies with the caller, who waits for it and ends.
// Afterwards the process is nobody if it was root, has no capability (7) and can gain none; with a mount
// namespace it sees no more than `left` says. Files that are open stay open.
void enter_namespaces(CapabilitySet without, Hello* hello, FileSystem left = FileSystem::kNone);

}  // namespace tf::worker::sandbox
