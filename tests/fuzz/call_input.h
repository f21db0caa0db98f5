#pragma once
// Owns: an input of the targets that call methods, as bytes and as its parts: the method's name, a newline,
// and the messages that are sent, each after its length in two bytes, low byte first. Does not know: methods,
// messages.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tf::fuzz {

struct CallInput {
  std::string method;
  std::vector<std::string> messages;
};

// Nothing where no line ends. A last message that is cut off counts as it is.
inline std::optional<CallInput> parse_call(std::string_view bytes) {
  const size_t end = bytes.find('\n');
  if (end == bytes.npos) return std::nullopt;
  CallInput call{.method = std::string(bytes.substr(0, end)), .messages = {}};
  bytes.remove_prefix(end + 1);
  while (bytes.size() >= 2) {
    const size_t size = static_cast<uint8_t>(bytes[0]) | static_cast<size_t>(static_cast<uint8_t>(bytes[1]))
                                                             << 8;
    call.messages.emplace_back(bytes.substr(2, size));
    bytes.remove_prefix(2 + call.messages.back().size());
  }
  return call;
}

// parse_call(to_bytes(call)) is the call again, as long as no message has more than 65,535 bytes.
inline std::string to_bytes(const CallInput& call) {
  std::string bytes = call.method + '\n';
  for (const std::string& message : call.messages) {
    bytes += static_cast<char>(message.size() & 0xff);
    bytes += static_cast<char>(message.size() >> 8);
    bytes += message;
  }
  return bytes;
}

}  // namespace tf::fuzz
