#pragma once
// Owns: errors that know what is true from what to do about it, for whoever tells the two apart, as doctors
// do (base/cli/doctor.h). To everybody else they are one message. Does not know: what fails.

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace tf {

// What stands between the two in a message: a semicolon if the truth has a colon of its own.
enum class Between { kColon, kSemicolon };

// An error with the message "TRUTH: REMEDY", or "TRUTH; REMEDY".
absl::Status with_remedy(absl::StatusCode code, std::string_view truth, std::string_view remedy,
                         Between between = Between::kColon);

struct Trouble {
  std::string truth;   // the whole message, if it has no remedy of its own
  std::string remedy;  // may be empty
};

// Of an error from with_remedy the two parts, as long as nobody has put its message into another.
Trouble trouble_of(const absl::Status& error);

// "NOT_FOUND: MESSAGE", or the code alone where there is no message, for logs: Status::ToString would say the
// remedy twice.
std::string code_and_message(const absl::Status& status);

}  // namespace tf
