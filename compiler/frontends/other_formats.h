#pragma once
// Owns: telling by their first bytes what files are that people give in place of a model that a
// front end reads. Does not know: how to read them.

#include <string>
#include <string_view>

namespace tf::frontends {

// "looks like a TensorFlow Lite model: convert it with tf2onnx": what the bytes are and what to do; empty if
// they are of no format that is known here.
std::string other_format(std::string_view bytes);

}  // namespace tf::frontends
