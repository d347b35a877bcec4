# Compile and link options shared by every target.

# A compiler cache, where there is one. Paths below the checkout are relative to it, so that a fresh clone finds what another made.
find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=true
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    list(INSERT CMAKE_CXX_COMPILER_LAUNCHER 1 CCACHE_PCH_EXTSUM=true)
    list(PREPEND CMAKE_CXX_COMPILER_LAUNCHER ${PROJECT_SOURCE_DIR}/cmake/cached_clang.sh)
    set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -include-pch <PCH_FILE>)  # CMake's own options hide the path from ccache
  endif()
endif()
add_compile_options(-Wall -Wextra -Werror -fno-math-errno)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options(-Wno-pass-failed)  # a loop that the sanitizers keep from being vectorised is no error
  add_compile_options("SHELL:-Xclang -fno-pch-timestamp")  # the same precompiled header makes the same objects: compiler caches
endif()
if(VERNIER_TOGETHER AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wno-subobject-linkage)  # g++ takes a source that is compiled with others for a header
endif()
find_program(LLD ld.lld)  # not mold 1.10: a program whose code ends 4 bytes before a page does not start (RELRO from .tbss on)
if(LLD AND CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
  add_link_options(-fuse-ld=lld)
endif()
if(VERNIER_SANITIZE)
  add_compile_options(-fsanitize=${VERNIER_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${VERNIER_SANITIZE})
  if(VERNIER_SANITIZE MATCHES undefined)
    # AddressSanitizer sees where such pointers lead. These checks take a fifth of the time that sources take to compile, loops over
    # vectors three quarters.
    add_compile_options(-fno-sanitize=null,object-size,pointer-overflow)
  endif()
  add_compile_definitions(VERNIER_SANITIZED)
endif()

# vernier_compile_together(<target>): with VERNIER_TOGETHER sources of the target are compiled in groups (source_groups.py), which read
# their headers once; one that has options of its own by then is left alone. A group includes its sources by relative paths (which
# CMake 3.25's own UNITY_BUILD does not), so that a compiler cache finds them from every checkout. The groups follow what the sources
# say when CMake runs: scripts/build runs it again where they no longer fit.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/source_groups.py)
function(vernier_compile_together target)
  if(NOT VERNIER_TOGETHER)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  execute_process(COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/source_groups.py ${sources}
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE groups OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" groups "${groups}")
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/groups)
  set(numbers "")
  foreach(line ${groups})
    string(REGEX MATCH "^([0-9]+) (.*)$" line "${line}")
    set(number ${CMAKE_MATCH_1})
    set(source ${CMAKE_MATCH_2})
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    get_source_file_property(definitions ${source} COMPILE_DEFINITIONS)
    if(options OR definitions)
      continue()
    endif()
    set_source_files_properties(${source} PROPERTIES HEADER_FILE_ONLY ON)
    get_filename_component(path ${source} ABSOLUTE)
    file(RELATIVE_PATH path ${folder} ${path})
    list(APPEND numbers ${number})
    string(APPEND text_${number} "#include \"${path}\"\n")
  endforeach()
  list(REMOVE_DUPLICATES numbers)
  foreach(number ${numbers})
    set(group ${folder}/${target}_${number}.cpp)
    file(CONFIGURE OUTPUT ${group} CONTENT "${text_${number}}" @ONLY)
    target_sources(${target} PRIVATE ${group})
  endforeach()
endfunction()
