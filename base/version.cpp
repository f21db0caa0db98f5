#include "base/version.h"

namespace tf {

std::string_view version() {
  return TF_VERSION;
}

}  // namespace tf
