#include "compiler/driver/frame.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace tf::driver {
namespace {

absl::Status wait_for(int socket, short events, Deadline deadline) {
  while (true) {
    // A minute at a time, so that kNever needs no case of its own.
    const auto left =
        std::min<Deadline::duration>(deadline - Deadline::clock::now(), std::chrono::minutes(1));
    if (left <= Deadline::duration::zero())
      return absl::DeadlineExceededError("the other end did not respond in time");
    pollfd poll_entry{socket, events, 0};
    const auto left_ms = std::chrono::duration_cast<std::chrono::milliseconds>(left).count();
    int ready = poll(&poll_entry, 1, static_cast<int>(left_ms) + 1);
    if (ready > 0) return absl::OkStatus();
    if (ready < 0 && errno != EINTR) return absl::UnavailableError(absl::StrCat("poll: ", strerror(errno)));
  }
}

absl::Status read_exactly(int socket, char* data, size_t size, Deadline deadline) {
  while (size > 0) {
    TF_RETURN_IF_ERROR(wait_for(socket, POLLIN, deadline));
    ssize_t count = recv(socket, data, size, MSG_DONTWAIT);
    if (count == 0) return absl::UnavailableError("the other end closed the stream");
    if (count < 0) {
      if (errno == EINTR || errno == EAGAIN) continue;
      return absl::UnavailableError(absl::StrCat("reading a frame: ", strerror(errno)));
    }
    data += count;
    size -= static_cast<size_t>(count);
  }
  return absl::OkStatus();
}

absl::Status write_exactly(int socket, const char* data, size_t size, Deadline deadline) {
  while (size > 0) {
    TF_RETURN_IF_ERROR(wait_for(socket, POLLOUT, deadline));
    ssize_t count = send(socket, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0) {
      if (errno == EINTR || errno == EAGAIN) continue;
      return absl::UnavailableError(absl::StrCat("writing a frame: ", strerror(errno)));
    }
    data += count;
    size -= static_cast<size_t>(count);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status write_frame(int socket, std::string_view bytes, Deadline deadline) {
  if (bytes.size() > kMaxFrameBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a message of ", bytes.size(), " bytes; the limit is ", kMaxFrameBytes));
  }
  std::array<char, 4> header;
  for (size_t i = 0; i < 4; ++i) header[i] = static_cast<char>(bytes.size() >> (8 * i));
  TF_RETURN_IF_ERROR(write_exactly(socket, header.data(), header.size(), deadline));
  return write_exactly(socket, bytes.data(), bytes.size(), deadline);
}

absl::StatusOr<std::string> read_frame(int socket, Deadline deadline) {
  std::array<char, 4> header;
  TF_RETURN_IF_ERROR(read_exactly(socket, header.data(), header.size(), deadline));
  uint32_t size = 0;
  for (size_t i = 0; i < 4; ++i)
    size |= static_cast<uint32_t>(static_cast<unsigned char>(header[i])) << (8 * i);
  if (size > kMaxFrameBytes) {
    return absl::UnavailableError(absl::StrCat("a frame of ", size, " bytes; the limit is ", kMaxFrameBytes));
  }
  std::string bytes(size, '\0');
  TF_RETURN_IF_ERROR(read_exactly(socket, bytes.data(), bytes.size(), deadline));
  return bytes;
}

}  // namespace tf::driver
