#include "device_agent/worker/sandbox/request_socket.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tf::worker::sandbox {

bool drops_go(int socket) {
  Go go;
  ssize_t length;  // that was sent
  do length = recv(socket, &go, sizeof go, MSG_PEEK | MSG_TRUNC);
  while (length < 0 && errno == EINTR);
  return length == sizeof go && recv(socket, &go, sizeof go, 0) == sizeof go;
}

bool receive(int socket, Received* received) {
  while (drops_go(socket)) {
  }
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxFds)];
  iovec data = {&received->request, sizeof received->request};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  ssize_t length;
  do {
    message.msg_controllen = sizeof control;
    length = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_TRUNC);  // the length that was sent
  } while (length < 0 && errno == EINTR);
  if (length != static_cast<ssize_t>(sizeof received->request)) return false;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return false;
  received->fd_count = static_cast<uint32_t>((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
  std::memcpy(received->fds, CMSG_DATA(header), received->fd_count * sizeof(int));
  return received->fd_count >= kFirstBlobFd;
}

bool pass_on(int socket, const Received& received) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxFds)] = {};
  iovec data = {const_cast<Request*>(&received.request), sizeof received.request};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = CMSG_SPACE(sizeof(int) * received.fd_count);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int) * received.fd_count);
  std::memcpy(CMSG_DATA(header), received.fds, sizeof(int) * received.fd_count);
  return sendmsg(socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof received.request);
}

void close_all(const Received& received) {
  for (uint32_t i = 0; i < received.fd_count; ++i) close(received.fds[i]);
}

uint64_t file_bytes(int fd) {
  struct stat file;
  return fstat(fd, &file) == 0 ? static_cast<uint64_t>(file.st_size) : 0;
}

void* map_whole(int fd, int protection) {
  const uint64_t bytes = file_bytes(fd);
  if (bytes == 0) return nullptr;
  // Its pages at once: a page at a time would be the timed runs' neighbours.
  void* memory = mmap(nullptr, bytes, protection, MAP_SHARED | MAP_POPULATE, fd, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace tf::worker::sandbox
