#include "tuner/cli/local_user.h"

#include <pwd.h>
#include <unistd.h>

#include <array>

#include "rpc/identity/identity.h"

namespace tf::tuner_cli {

std::string local_user() {
  std::array<char, 1 << 14> buffer;
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr)
    return "";
  const std::string name = found->pw_name;
  return rpc::check_identity_name(name).ok() ? name : "";
}

}  // namespace tf::tuner_cli
