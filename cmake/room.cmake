# Precompiles headers of the standard library and of fmt, which change with the machine alone. No header of the project is
# among them, so that a change of one compiles what includes it and nothing else, and a compiler cache serves every checkout.
set(VERNIER_PRECOMPILED <fmt/format.h> <algorithm> <array> <atomic> <cmath> <cstdint> <filesystem> <functional> <limits> <map> <memory> <mutex>
    <optional> <set> <span> <string> <string_view> <unordered_map> <utility> <variant> <vector>)

# vernier_room(<name> SOURCES ... [DEPENDS room...] [USES room...] [LIBRARIES lib...] [HEADERS <header>...] [QUICKLY])
#
# One static library per room of src/vernier. A room sees its own headers and those of the rooms it
# depends on, and no others: each room has an include root of its own that holds one symbolic link,
# so an include that crosses a forbidden border does not compile. Rooms that it USES are seen by its
# sources alone: its headers name nothing of them, and rooms above it do not see them.
#
# A room where nothing runs for long is compiled QUICKLY, with less optimisation: under sanitizers with none, which takes half of the
# time. One that names HEADERS of libraries precompiles these, too. g++ optimises a file as its precompiled header was optimised: of the
# others the first ones, base and passes, share theirs.
function(vernier_room name)
  cmake_parse_arguments(ROOM "QUICKLY" "" "SOURCES;DEPENDS;USES;LIBRARIES;HEADERS" ${ARGN})
  string(REPLACE "/" "_" target "vernier_${name}")
  set(root ${CMAKE_BINARY_DIR}/include/${target})
  get_filename_component(parent ${root}/vernier/${name} DIRECTORY)
  file(MAKE_DIRECTORY ${parent})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/src/vernier/${name} ${root}/vernier/${name} SYMBOLIC)

  add_library(${target} STATIC ${ROOM_SOURCES})
  vernier_compile_together(${target})
  target_include_directories(${target} PUBLIC ${root})
  foreach(dependency ${ROOM_DEPENDS})
    string(REPLACE "/" "_" dependency "vernier_${dependency}")
    target_link_libraries(${target} PUBLIC ${dependency})
  endforeach()
  foreach(used ${ROOM_USES})
    string(REPLACE "/" "_" used "vernier_${used}")
    target_link_libraries(${target} PRIVATE ${used})
  endforeach()
  target_link_libraries(${target} PRIVATE ${ROOM_LIBRARIES})
  set(shares vernier_base)
  if(ROOM_QUICKLY)
    set(shares vernier_passes)
    target_compile_options(${target} PRIVATE $<IF:$<CONFIG:Release>,-O1,-O0>)
  endif()
  if(ROOM_HEADERS OR target STREQUAL shares)
    target_precompile_headers(${target} PRIVATE ${VERNIER_PRECOMPILED} ${ROOM_HEADERS})
  else()
    target_precompile_headers(${target} REUSE_FROM ${shares})
  endif()
endfunction()
