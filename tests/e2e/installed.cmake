# Installs what BUILD has built below PREFIX and asks the installed program for its models: the bundled one must be PREFIX's.
file(REMOVE_RECURSE ${PREFIX})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${PREFIX}/bin/satchel info --json OUTPUT_VARIABLE info COMMAND_ERROR_IS_FATAL ANY)
string(FIND "${info}" "\"path\":\"${PREFIX}/share/satchel/models/" at)
if(at EQUAL -1)
  message(FATAL_ERROR "the installed satchel does not open the installed model: ${info}")
endif()
