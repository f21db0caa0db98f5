// Debian 12's libstdc++, which is linked in, takes std::random_device from arc4random. glibc has that
// since 2.36, and JetPack 6 has 2.35; the kernel's own call is as good.
#include <sys/random.h>

#include <cstdint>
#include <cstdlib>

extern "C" uint32_t arc4random(void) noexcept {
  uint32_t number = 0;
  if (getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) std::abort();
  return number;
}
