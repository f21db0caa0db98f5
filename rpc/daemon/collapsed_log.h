#pragma once
// Owns: a log in which a record that comes again and again within a second stands once, and then once more
// with a count, so that a full disk or a broken line does not bury everything else. Does not know: where
// records go.

#include <memory>

#include "absl/time/time.h"

namespace spdlog::sinks {
class sink;
}

namespace tf::rpc {

// The first record goes to `to` at once. Equal ones (level, message and fields) of the next `window` are only
// counted; when it is over, the message follows with "(N more times within 1s)". Thread-safe; has a thread of
// its own, and its end writes what is still counted.
std::shared_ptr<spdlog::sinks::sink> collapsed_log(std::shared_ptr<spdlog::sinks::sink> to,
                                                   absl::Duration window = absl::Seconds(1));

}  // namespace tf::rpc
