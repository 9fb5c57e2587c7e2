# satchel_strict(target): the warnings our own code is clean under, with g++ 12 and clang 14, and the sanitizers asked for.
# clang counts -Wsign-conversion into -Wconversion and g++ does not, so it is named.
function(satchel_strict target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
    $<$<BOOL:${SATCHEL_WERROR}>:-Werror>)
  if(SATCHEL_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${SATCHEL_SANITIZE} -fno-omit-frame-pointer
                                             -fno-sanitize-recover=undefined)
    target_link_options(${target} PUBLIC -fsanitize=${SATCHEL_SANITIZE})
  endif()
endfunction()
