# A folder is a module is a CMake target: tf_module(NAME DEPS ...) takes every .cpp of its folder, so that adding a
# file needs no edit here; folders below that have no CMakeLists.txt, two deep, are rooms of the same module. Files named *_main.cpp
# are programs: tf_program(NAME DEPS ...) builds NAME_main.cpp.

# Off: modules and programs are compiled with what each file includes itself, and nothing else.
option(TF_PRECOMPILED_HEADERS "Compile with the precompiled headers of cmake/headers" ON)

# Off: each file is compiled by itself, so that an edit compiles no other again.
option(TF_UNITY_BUILD "Compile several files of a target at once, which takes a third of the time" ON)

# What a test itself computes is little, and its compilation a good part of a build: -O1 is enough of an optimization
# for it.
set(TF_COLD_OPTIONS $<$<CONFIG:Release>:-O1>)

# tf_precompile(TARGET): its files are compiled together, with precompiled headers. The headers must have been compiled with
# the target's own options: GCC optimizes as it did there.
function(tf_precompile target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${TF_UNITY_BUILD})
  if(TF_PRECOMPILED_HEADERS)
    tf_use_headers(${target} tf_headers)
  endif()
endfunction()

# Where any file includes gRPC, spdlog or JSON, all are compiled with headers that have these, too. What a file includes
# is read when CMake runs; where that has changed since, it costs time and nothing else.
function(tf_use_headers target headers)
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    get_filename_component(path ${source} ABSOLUTE)
    set(includes)
    if(source MATCHES "\\.grpc\\.pb\\.cc$")
      set(includes grpcpp/)
    elseif(EXISTS ${path})
      file(STRINGS ${path} includes REGEX "^#include [<\"](grpcpp/|spdlog/|nlohmann/json\\.hpp|proto/.*\\.grpc\\.pb\\.h)")
    endif()
    if(includes)
      set(headers ${headers}_large)
      break()
    endif()
  endforeach()
  target_precompile_headers(${target} REUSE_FROM ${headers})
  target_compile_definitions(${target} PRIVATE $<TARGET_PROPERTY:spdlog::spdlog,INTERFACE_COMPILE_DEFINITIONS>)
endfunction()

function(tf_module name)
  # OWN_OPTIONS: it is compiled with others than all else. APART: files that are a target of their own.
  cmake_parse_arguments(arg "OWN_OPTIONS" "" "APART;DEPS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cpp)
  file(GLOB rooms CONFIGURE_DEPENDS LIST_DIRECTORIES true *)
  foreach(room ${rooms})
    if(IS_DIRECTORY ${room} AND NOT EXISTS ${room}/CMakeLists.txt)
      file(GLOB inner CONFIGURE_DEPENDS ${room}/*.cpp ${room}/*/*.cpp)
      list(APPEND sources ${inner})
    endif()
  endforeach()
  list(FILTER sources EXCLUDE REGEX "_main\\.cpp$")
  foreach(file ${arg_APART})
    list(REMOVE_ITEM sources ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  endforeach()
  if(sources)
    add_library(tf_${name} STATIC ${sources})
    set_property(GLOBAL APPEND PROPERTY TF_ARCHIVES libtf_${name}.a)
    target_compile_options(tf_${name} PRIVATE ${TF_WARNINGS})
    if(NOT arg_OWN_OPTIONS)
      tf_precompile(tf_${name})
    endif()
    set(scope PUBLIC)
  else()
    add_library(tf_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(tf_${name} ${scope} ${CMAKE_SOURCE_DIR})
  target_link_libraries(tf_${name} ${scope} ${arg_DEPS})
endfunction()

function(tf_program name)
  cmake_parse_arguments(arg "" "" "DEPS" ${ARGN})
  add_executable(${name} ${name}_main.cpp)
  target_compile_options(${name} PRIVATE ${TF_WARNINGS})
  tf_precompile(${name})
  target_link_libraries(${name} PRIVATE ${arg_DEPS})
endfunction()

# tf_proto(NAME FILES ...): C++ messages and gRPC services of proto/NAME/*.proto as one SYSTEM library.
function(tf_proto name)
  cmake_parse_arguments(arg "GRPC" "" "FILES;DEPS" ${ARGN})
  set(out ${CMAKE_BINARY_DIR}/generated)
  file(MAKE_DIRECTORY ${out})
  set(generated)
  foreach(file ${arg_FILES})
    string(REGEX REPLACE "\\.proto$" "" stem ${file})
    set(outputs ${out}/proto/${stem}.pb.cc ${out}/proto/${stem}.pb.h)
    set(command protobuf::protoc -I ${CMAKE_SOURCE_DIR} --cpp_out=${out})
    if(arg_GRPC)
      list(APPEND outputs ${out}/proto/${stem}.grpc.pb.cc ${out}/proto/${stem}.grpc.pb.h)
      list(APPEND command --grpc_out=${out} --plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin>)
    endif()
    add_custom_command(OUTPUT ${outputs} COMMAND ${command} proto/${file}
      DEPENDS ${CMAKE_SOURCE_DIR}/proto/${file} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} VERBATIM)
    list(APPEND generated ${outputs})
  endforeach()
  add_library(tf_${name} STATIC ${generated})
  set_property(GLOBAL APPEND PROPERTY TF_ARCHIVES libtf_${name}.a)
  target_include_directories(tf_${name} SYSTEM PUBLIC ${out})
  tf_precompile(tf_${name})
  set_target_properties(tf_${name} PROPERTIES UNITY_BUILD OFF)  # as few files as there are, each a large one
  target_link_libraries(tf_${name} PUBLIC protobuf::libprotobuf ${arg_DEPS})
  if(arg_GRPC)
    target_link_libraries(tf_${name} PUBLIC gRPC::grpc++)
  endif()
endfunction()

# tf_unit_tests(NAME DEPS ...): one test program from every *_test.cpp of the folder. All have GoogleTest from their
# precompiled headers.
function(tf_unit_tests name)
  cmake_parse_arguments(arg "" "LABEL" "DEPS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *_test.cpp)
  if(NOT sources)
    return()
  endif()
  if(NOT arg_LABEL)
    set(arg_LABEL unit)
  endif()
  # Those of the farm wait more than they compute, some for half a minute: they begin first, and of them twice as many
  # run at once as of others, but where a sanitizer makes them compute.
  set(cost 0)
  set(processors 2)
  if(arg_LABEL STREQUAL farm)
    set(cost 1)
    if(NOT TF_SANITIZE)
      set(processors 1)
    endif()
  endif()
  add_executable(${name}_test ${sources})
  target_compile_options(${name}_test PRIVATE ${TF_WARNINGS} ${TF_COLD_OPTIONS})
  target_link_libraries(${name}_test PRIVATE ${arg_DEPS} GTest::gmock_main)
  target_compile_definitions(${name}_test PRIVATE TF_SOURCE_DIR="${CMAKE_SOURCE_DIR}" TF_BINARY_DIR="${CMAKE_BINARY_DIR}")
  set_target_properties(${name}_test PROPERTIES UNITY_BUILD ${TF_UNITY_BUILD})
  tf_use_headers(${name}_test tf_test_headers)
  include(GoogleTest)
  # A case of several is called as its test calls it, without what prints as bytes or addresses, which are others each time.
  gtest_discover_tests(${name}_test NO_PRETTY_VALUES PROPERTIES LABELS ${arg_LABEL} COST ${cost} PROCESSORS ${processors}
    ${TF_TEST_PROPERTIES} DISCOVERY_TIMEOUT 60)
endfunction()
