#pragma once
// Owns: who may change whose job, and whose may go before others'. What roles may call at all is the access
// table's (rpc/identity). Pure. Does not know: connections, queues.

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "database/record.h"
#include "rpc/identity/identity.h"

namespace tf::service {

// Whether the caller may cancel, pause or resume the job; `verb` names the action in the error. Users and
// tuners may change their own jobs and those without a submitter. The other roles that the access table
// admits (device-owner, admin) may change all jobs, as may everybody at a plain-text tuner, where there is no
// caller. PERMISSION_DENIED says whose job it is.
absl::Status check_may_change(const std::optional<rpc::Identity>& caller, const database::Job& job,
                              const char* verb);

// Whether a job of the caller's may have this priority: one above 0 goes before everybody else's, and so is
// for those alone who may change everybody's, as above. PERMISSION_DENIED says so.
absl::Status check_may_ask(const std::optional<rpc::Identity>& caller, int priority);

// The name by which the tracker accounts for the submitter's leases: "ada" for "user ada", as a secured tuner
// notes it, and for "ada", as a plain-text tuner does. Empty for a submitter without a name.
std::string person_of(const std::string& submitter);

}  // namespace tf::service
