# tf_embed(TARGET): gives the target the bytes of build/page/** and of the described protos (embedded.h), by the assembler:
# nothing is compiled but a table of names.
function(tf_embed target)
  set(page ${CMAKE_SOURCE_DIR}/build/page)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE ${page} ${page}/*)
  set(protos ${CMAKE_BINARY_DIR}/generated/described_protos.pb)
  set(sources proto/kernel/v1/kernel.proto proto/farm/v1/trial.proto proto/farm/v1/farm.proto proto/tune/v1/progress.proto
    proto/tune/v1/tune.proto proto/tune/v1/report.proto proto/tune/v1/token.proto)
  list(TRANSFORM sources PREPEND ${CMAKE_SOURCE_DIR}/ OUTPUT_VARIABLE dependencies)
  add_custom_command(OUTPUT ${protos}
    COMMAND protobuf::protoc -I ${CMAKE_SOURCE_DIR} --include_imports --include_source_info --descriptor_set_out=${protos}
            ${sources}
    DEPENDS ${dependencies} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} VERBATIM)

  set(bytes "")
  set(names "")
  set(rows "")
  set(number 0)
  foreach(file ${files})
    string(APPEND bytes "  \"tf_web_begin_${number}: .incbin \\\"${page}/${file}\\\"\\n tf_web_end_${number}:\\n\"\n")
    string(APPEND names "extern \"C\" const char tf_web_begin_${number}[], tf_web_end_${number}[];\n")
    string(APPEND rows "    {\"/${file}\", tf_web_begin_${number}, tf_web_end_${number}},\n")
    math(EXPR number "${number} + 1")
  endforeach()
  set(made ${CMAKE_CURRENT_BINARY_DIR}/embedded.cpp)
  file(CONFIGURE OUTPUT ${made} @ONLY CONTENT [[
// Written by CMake (tuner/web/embed.cmake).
#include "tuner/web/embedded.h"

#include <array>

asm(".pushsection .rodata\n"
@bytes@  "tf_web_protos_begin: .incbin \"@protos@\"\n tf_web_protos_end:\n"
    ".popsection\n");
@names@extern "C" const char tf_web_protos_begin[], tf_web_protos_end[];

namespace tf::web {

std::span<const EmbeddedFile> page_files() {
  static const std::array<EmbeddedFile, @number@> files = {{
@rows@  }};
  return files;
}

std::string_view described_protos() {
  return {tf_web_protos_begin, tf_web_protos_end};
}

}  // namespace tf::web
]])
  list(TRANSFORM files PREPEND ${page}/)
  set_source_files_properties(${made} PROPERTIES OBJECT_DEPENDS "${files};${protos}" SKIP_UNITY_BUILD_INCLUSION ON
    SKIP_PRECOMPILE_HEADERS ON)
  target_sources(${target} PRIVATE ${made})
endfunction()
