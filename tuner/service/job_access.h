#pragma once
// Owns: who may change whose job, and whose may go before others'. What roles may call at all is the access
// table's (rpc/identity). Pure. Does not know: connections, queues.

#include <optional>

#include "absl/status/status.h"
#include "database/record.h"
#include "rpc/identity/identity.h"

namespace tf::service {

// Whether the caller may cancel, pause or resume the job; `verb` says which, for people. With the role tuner,
// one's own, and those of nobody known; with another that the table lets through (device-owner, admin), all.
// So may everybody at a plain-text tuner, where there is no caller. PERMISSION_DENIED says whose job it is.
absl::Status check_may_change(const std::optional<rpc::Identity>& caller, const database::Job& job,
                              const char* verb);

// Whether a job of the caller's may have this priority: one above 0 goes before everybody else's, and so is
// for those alone who may change everybody's, as above. PERMISSION_DENIED says so.
absl::Status check_may_ask(const std::optional<rpc::Identity>& caller, int priority);

}  // namespace tf::service
