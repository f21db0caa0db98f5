# Compiler flags, sanitizers, and the two tools that keep builds short: ccache and mold, both optional.
find_program(TF_CCACHE ccache)
if(TF_CCACHE)
  # pch_defines,time_macros: ccache's documented needs for precompiled headers. The base directory and the
  # unhashed working directory let every checkout and build folder share one cache.
  set(tf_launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${TF_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${tf_launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${tf_launcher})
endif()

# -O2 compiles in two thirds of -O3's time, and the hot code is what we generate, not this.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG" CACHE STRING "Flags of the release build" FORCE)

# The same for all, libraries and programs, as precompiled headers ask for (cmake/headers); some libraries ask for -pthread.
add_compile_options(-fPIC -pthread)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Half a gigabyte of garbage is less than what a compilation takes; to look for it costs a tenth of the time, and twice
  # that with precompiled headers, all of which are looked at.
  add_compile_options(--param=ggc-min-heapsize=524288)
  # GCC 12 folds the interpreter's kernels for casts from f32 and from f64 to i64 into one at -O2, though they load
  # different types: the f32 one then reads a double.
  add_compile_options(-fno-ipa-icf)
endif()

find_program(TF_MOLD mold)
# A cross compiler looks for a linker of its own, and mold 1.10 aborts on a fuzzer's objects before the archives: clang has
# lld, which the compiler links models with.
if(TF_FUZZ)
  add_link_options(-fuse-ld=lld)
elseif(TF_MOLD AND NOT CMAKE_CROSSCOMPILING)
  add_link_options(-fuse-ld=mold)
endif()

add_link_options(-Wl,--as-needed)  # a program that only starts build workers does not load LLVM

if(TF_AGENT_ONLY)
  add_compile_options(-ffunction-sections -fdata-sections)
  add_link_options(-Wl,--gc-sections -static-libstdc++ -static-libgcc)
endif()

set(TF_SANITIZE "" CACHE STRING "Sanitizers to build with, as in -fsanitize=")
if(TF_SANITIZE)
  add_compile_options(-fsanitize=${TF_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${TF_SANITIZE})
endif()
option(TF_FUZZ "Fuzz targets that fuzz (needs clang), instead of running their corpus once")
if(TF_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link -D_GLIBCXX_ASSERTIONS)
endif()
if(TF_SANITIZE MATCHES "thread")
  set(TF_TEST_PROPERTIES ENVIRONMENT "TSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/support/tsan.supp")
  # It does not know fences, and GCC refuses them under it. Boost.Asio's order nothing that its mutexes do not.
  add_compile_definitions(BOOST_ASIO_DISABLE_FENCED_BLOCK)
elseif(TF_SANITIZE MATCHES "undefined")
  set(TF_TEST_PROPERTIES ENVIRONMENT "UBSAN_OPTIONS=print_stacktrace=1")
endif()

# Warnings are errors on our own code only: generated and third-party headers come in as SYSTEM. They are GCC's: the list is
# tuned to what GCC 12 gets right. The preset clang is for the errors and sanitizers of another compiler.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(TF_WARNINGS -Wall -Wextra -Werror -Wshadow -Wnon-virtual-dtor -Wno-missing-field-initializers)
  # GCC 12 reports these falsely inside libstdc++ and intrusive references at -O2 and above.
  list(APPEND TF_WARNINGS -Wno-restrict -Wno-maybe-uninitialized -Wno-dangling-pointer -Wno-array-bounds
       -Wno-stringop-overflow -Wno-stringop-overread -Wno-free-nonheap-object -Wno-use-after-free)
  # It takes a file that is compiled together with others for a header.
  list(APPEND TF_WARNINGS -Wno-subobject-linkage)
endif()
