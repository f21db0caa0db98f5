# find_package(tunefarm) gives the program TUNEFARM_COMPILER and one function:
#
#   tunefarm_add_model(NAME MODEL [TARGET TARGET] [THREADS N] [DB DATABASE] [ALLOW NUMERICS] [DIMS NAME=N…])
#
# builds the ONNX file MODEL into a library, by `compiler build` with these options, and again whenever MODEL changes, or
# DATABASE if it is a file. NAME is an imported target: link to it and include "NAME/model.h"; the model's functions begin
# with NAME_ (each character that C does not allow in a name as _). A program may link to several. The target's property
# TUNEFARM_FOLDER is the folder with the library, where programs find it until they are installed.
find_program(TUNEFARM_COMPILER compiler
  HINTS ${CMAKE_CURRENT_LIST_DIR}/../../tunefarm/bin  # installed
        ${CMAKE_CURRENT_LIST_DIR}/../../../bin        # a build folder
  NO_DEFAULT_PATH)
if(NOT TUNEFARM_COMPILER)
  set(tunefarm_FOUND FALSE)
  set(tunefarm_NOT_FOUND_MESSAGE "Tunefarm's compiler is missing; build it or install the package tunefarm")
  return()
endif()

function(tunefarm_add_model name model)
  cmake_parse_arguments(arg "" "TARGET;THREADS;DB;ALLOW" "DIMS" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tunefarm_add_model(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  get_filename_component(model ${model} ABSOLUTE)
  if(arg_DB AND NOT arg_DB MATCHES "^tuner://")
    get_filename_component(arg_DB ${arg_DB} ABSOLUTE)
  endif()
  set(depends ${model})
  set(options)
  foreach(option TARGET THREADS DB ALLOW)
    if(arg_${option})
      string(TOLOWER ${option} lower)
      list(APPEND options --${lower} ${arg_${option}})
    endif()
  endforeach()
  foreach(dim ${arg_DIMS})
    list(APPEND options --dim ${dim})
  endforeach()
  if(arg_DB AND EXISTS "${arg_DB}")
    list(APPEND depends ${arg_DB})
  endif()
  string(MAKE_C_IDENTIFIER ${name} prefix)
  list(APPEND options --name ${prefix})
  set(models ${CMAKE_CURRENT_BINARY_DIR}/models)
  set(folder ${models}/${name})
  file(MAKE_DIRECTORY ${folder})  # an include folder must exist
  add_custom_command(OUTPUT ${folder}/model.so ${folder}/model.h
    COMMAND ${TUNEFARM_COMPILER} build ${model} ${options} -o ${folder}
    DEPENDS ${depends} ${TUNEFARM_COMPILER} VERBATIM COMMENT "Building the model ${name}")
  add_custom_target(${name}_build DEPENDS ${folder}/model.so)
  add_library(${name} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${name} INTERFACE ${models})
  # By its name alone: a path would become part of the program.
  target_link_libraries(${name} INTERFACE -L${folder} -l${prefix})
  target_link_options(${name} INTERFACE LINKER:-rpath,${folder})
  set_target_properties(${name} PROPERTIES TUNEFARM_FOLDER ${folder})
  add_dependencies(${name} ${name}_build)
endfunction()
