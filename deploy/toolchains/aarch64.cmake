# 64-bit ARM: Raspberry Pi 3 and later under a 64-bit system, Jetson, servers.
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(TF_TRIPLE aarch64-linux-gnu)
include(${CMAKE_CURRENT_LIST_DIR}/debian.cmake)
