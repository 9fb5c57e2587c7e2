# Compares every function and struct of satchel.h with abi/satchel.abi, as programs that were built know them.
# CC, HEADER, BASELINE, FOLDER (for what is made), ABIDW, ABIDIFF; UPDATE=ON writes the baseline anew (target embed_abi_update).
if(NOT ABIDW OR NOT ABIDIFF)
  message("Skipped: abidiff is not here (Debian: abigail-tools)")
  return()
endif()
include(${CMAKE_CURRENT_LIST_DIR}/declared.cmake)
# A pointer to each function, compiled with debug information: the types of all of them, and nothing of what is behind them.
set(text "#include <satchel/satchel.h>\n")
foreach(function IN LISTS declared)
  string(APPEND text "extern __typeof__(${function}) *at_${function};\n__typeof__(${function}) *at_${function} = ${function};\n")
endforeach()
file(WRITE ${FOLDER}/abi.c "${text}")
cmake_path(GET HEADER PARENT_PATH folder)
cmake_path(GET folder PARENT_PATH folder)
execute_process(COMMAND ${CC} -g -shared -fPIC -I${folder} abi.c -o abi.so WORKING_DIRECTORY ${FOLDER} COMMAND_ERROR_IS_FATAL ANY)
set(new ${FOLDER}/satchel.abi)
if(UPDATE)
  set(new ${BASELINE})
endif()
execute_process(COMMAND ${ABIDW} --no-corpus-path --no-comp-dir-path --no-show-locs --out-file ${new} ${FOLDER}/abi.so
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${ABIDIFF} --no-added-syms ${BASELINE} ${new} OUTPUT_VARIABLE differs ERROR_VARIABLE failed RESULT_VARIABLE code)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "${differs}${failed}\nPrograms built before know this otherwise. Where it only adds, as docs/embedding.md "
                      "says, build the target embed_abi_update and commit ${BASELINE}.")
endif()
