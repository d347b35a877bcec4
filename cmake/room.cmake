# vernier_room(<name> SOURCES ... [DEPENDS room...] [USES room...] [LIBRARIES lib...] [PCH header] [QUICKLY])
#
# One static library per room of src/vernier. A room sees its own headers and those of the rooms it
# depends on, and no others: each room has an include root of its own that holds one symbolic link,
# so an include that crosses a forbidden border does not compile. Rooms that it USES are seen by its
# sources alone: its headers name nothing of them, and rooms above it do not see them.
#
# A room precompiles the header that it names, or uses that of the last room of DEPENDS that has one above base. g++ optimises a
# file as its precompiled header was optimised: a room that names one and where nothing runs for long is compiled QUICKLY, with
# less optimisation, and so are the rooms that use its header.
function(vernier_room name)
  cmake_parse_arguments(ROOM "QUICKLY" "PCH" "SOURCES;DEPENDS;USES;LIBRARIES" ${ARGN})
  string(REPLACE "/" "_" target "vernier_${name}")
  set(root ${CMAKE_BINARY_DIR}/include/${target})
  get_filename_component(parent ${root}/vernier/${name} DIRECTORY)
  file(MAKE_DIRECTORY ${parent})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/src/vernier/${name} ${root}/vernier/${name} SYMBOLIC)

  add_library(${target} STATIC ${ROOM_SOURCES})
  target_include_directories(${target} PUBLIC ${root})
  set(precompiled vernier_base)
  foreach(dependency ${ROOM_DEPENDS})
    string(REPLACE "/" "_" dependency "vernier_${dependency}")
    target_link_libraries(${target} PUBLIC ${dependency})
    get_target_property(below ${dependency} VERNIER_PRECOMPILED)
    if(NOT below STREQUAL vernier_base)
      set(precompiled ${below})
    endif()
  endforeach()
  foreach(used ${ROOM_USES})
    string(REPLACE "/" "_" used "vernier_${used}")
    target_link_libraries(${target} PRIVATE ${used})
  endforeach()
  target_link_libraries(${target} PRIVATE ${ROOM_LIBRARIES})
  if(ROOM_PCH)
    set(precompiled ${target})
    target_precompile_headers(${target} PRIVATE ${ROOM_PCH})
  else()
    target_precompile_headers(${target} REUSE_FROM ${precompiled})
    get_target_property(ROOM_QUICKLY ${precompiled} VERNIER_QUICKLY)
  endif()
  if(ROOM_QUICKLY)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  set_target_properties(${target} PROPERTIES VERNIER_PRECOMPILED ${precompiled} VERNIER_QUICKLY ${ROOM_QUICKLY})
endfunction()
