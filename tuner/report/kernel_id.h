#pragma once
// Owns: the short name of a kernel in reports. Does not know: what is reported of it.

#include <string>

#include "compiler/tensor/kernel_key.h"

namespace tf::report {

// 16 hexadecimal digits: the beginning of the SHA-256 of the key's text.
std::string kernel_id(const tensor::KernelKey& key);

}  // namespace tf::report
