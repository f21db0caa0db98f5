#pragma once
// Owns: where a tracker and a tuner listen, and where commands look for them, unless they are told. Does not
// know: their options.

namespace tf::rpc {

inline constexpr const char* kDefaultTracker = "127.0.0.1:7190";
inline constexpr const char* kDefaultTuner = "127.0.0.1:7191";

}  // namespace tf::rpc
