# Everything comes from Debian packages (deploy/install_packages.sh lists them). Nothing is downloaded.
if(TF_AGENT_ONLY)
  include(cmake/archives.cmake)  # tf_link_archives
else()
  find_package(spdlog REQUIRED)
endif()
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(Boost 1.74 REQUIRED)  # header-only parts: Asio, Beast, Process
find_package(OpenSSL REQUIRED)
find_package(absl REQUIRED)
find_package(Protobuf REQUIRED)
find_package(gRPC CONFIG REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_library(TF_SECCOMP seccomp REQUIRED)
find_path(TF_SECCOMP_INCLUDE seccomp.h REQUIRED)
if(TF_AGENT_ONLY)
  tf_link_archives()
  return()  # what the agent needs stands above, the rest below
endif()

# By their files: the CMake package asks for curl too, which only pushing to a gateway needs.
find_library(TF_PROMETHEUS_PULL prometheus-cpp-pull REQUIRED)
find_library(TF_PROMETHEUS_CORE prometheus-cpp-core REQUIRED)
find_package(GTest REQUIRED)
find_package(benchmark REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(CURL REQUIRED)

# LLVM 19.1, by its shared library; lld's archives link against the same one. Found by its own path, so that an
# older default LLVM beside it does no harm.
find_package(LLVM 19.1 REQUIRED CONFIG HINTS /usr/lib/llvm-19/lib/cmake/llvm)
add_library(tf_llvm INTERFACE)
target_include_directories(tf_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
target_compile_definitions(tf_llvm INTERFACE ${LLVM_DEFINITIONS_LIST})
target_link_libraries(tf_llvm INTERFACE LLVM)
target_link_directories(tf_llvm INTERFACE ${LLVM_LIBRARY_DIRS})
add_library(tf_lld INTERFACE)
target_link_libraries(tf_lld INTERFACE ${LLVM_LIBRARY_DIRS}/liblldELF.a ${LLVM_LIBRARY_DIRS}/liblldCommon.a tf_llvm z zstd)

find_library(TF_XGBOOST xgboost REQUIRED)
find_path(TF_XGBOOST_INCLUDE xgboost/c_api.h REQUIRED)
find_library(TF_ONNX_PROTO onnx_proto REQUIRED)
