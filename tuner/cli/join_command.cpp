// tuner join: makes this user, or a tuner that will serve, a member of a secured farm.
#include "rpc/identity/join_command.h"

#include <memory>

#include "base/cli/exit_code.h"
#include "base/status.h"
#include "tuner/cli/commands.h"

namespace tf::tuner_cli {

void add_join_command(CLI::App& app, Invocation& invocation) {
  rpc::add_join_command(app, "tuner", [&invocation](std::function<absl::Status()> join) {
    invocation.run = [join]() -> absl::StatusOr<int> {
      TF_RETURN_IF_ERROR(join());
      return kExitOk;
    };
  });
}

}  // namespace tf::tuner_cli
