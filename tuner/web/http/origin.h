#pragma once
// Owns: whether a request is meant for this server and comes from no page of another origin: browsers send
// what they are told to, and a name of another's may lead here (DNS rebinding). Pure. Does not know: who
// calls, what is served.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tuner/web/http/exchange.h"

namespace tf::web {

// PERMISSION_DENIED unless the field Host names an address that the caller has reached, localhost, or one of
// `names` (in lower case), with any port: a tunnel may have another.
absl::Status check_host(const RequestHead& head, const std::vector<std::string>& names);

// PERMISSION_DENIED if a page of another origin asks: the field Origin names another, or the browser says so.
absl::Status check_same_origin(const RequestHead& head);

}  // namespace tf::web
