# 32-bit ARM with NEON and fused multiply-add (Cortex-A7, A15 and later): Raspberry Pi 2 and later under a 32-bit system.
# Debian's own default has neither, and the FMA rate, which is measured against, would be that of scalar code.
set(CMAKE_SYSTEM_PROCESSOR armv7)
set(TF_TRIPLE arm-linux-gnueabihf)
set(CMAKE_C_FLAGS_INIT "-march=armv7-a+neon-vfpv4 -D_FILE_OFFSET_BITS=64")
set(CMAKE_CXX_FLAGS_INIT "-march=armv7-a+neon-vfpv4 -D_FILE_OFFSET_BITS=64 -Wno-psabi")
include(${CMAKE_CURRENT_LIST_DIR}/debian.cmake)
