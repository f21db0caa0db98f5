// How libFuzzer changes a call: mostly inside of one of its messages, so that the method stays one that there
// is and the lengths stay true. Linked into fuzzers only.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <random>
#include <string>

#include "tests/fuzz/call_input.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

constexpr size_t kLongestMessage = 4096;
constexpr size_t kMostMessages = 8;

void mutate(std::string& message) {
  const size_t size = std::min(message.size(), kLongestMessage);
  message.resize(kLongestMessage);
  message.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(message.data()), size, kLongestMessage));
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  std::minstd_rand random(seed);
  auto below = [&](size_t end) { return static_cast<size_t>(random() % end); };
  auto call = tf::fuzz::parse_call({reinterpret_cast<const char*>(data), size});
  if (!call || below(64) == 0) return LLVMFuzzerMutate(data, size, max_size);
  auto& messages = call->messages;
  if (messages.empty()) messages.emplace_back();
  const size_t chosen = below(messages.size());
  switch (below(16)) {
    case 0:
      messages.erase(messages.begin() + static_cast<ptrdiff_t>(chosen));
      break;
    case 1:
      if (messages.size() < kMostMessages) messages.push_back(std::string(messages[chosen]));
      break;
    case 2:
      std::swap(messages[chosen], messages[below(messages.size())]);
      break;
    default:
      mutate(messages[chosen]);
  }
  const std::string bytes = tf::fuzz::to_bytes(*call);
  if (bytes.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}
