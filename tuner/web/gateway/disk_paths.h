#pragma once
// Owns: that no answer tells where the server keeps its files. Does not know: which those are.

#include <string>

namespace tf::web {

// The text with the last part alone in place of each absolute path of this machine's disk: "/home/ada/t.db.models/x.onnx"
// becomes "x.onnx". A path is one if its first part is a folder at the root of the disk: names of a network's
// nodes, which look alike, stay. Thread-safe.
std::string without_disk_paths(std::string text);

}  // namespace tf::web
