// The helper process of device_agent/worker: started by a Worker with a socket as its standard input.

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>

#include "device_agent/worker/sandbox/zygote.h"

int main() {
  int type = 0;
  socklen_t size = sizeof type;
  if (getsockopt(STDIN_FILENO, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_SEQPACKET) {
    std::fprintf(stderr,
                 "trial_worker: internal program of device_agent and tuner; do not run it directly\n");
    return 2;
  }
  // The socket moves away from descriptor 0, so that candidates find /dev/null there.
  const int socket = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (socket < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0) return 1;
  close(null);
  return tf::worker::sandbox::serve_zygote(socket);
}
