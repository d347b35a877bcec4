# vernier_room(<name> SOURCES ... [DEPENDS room...] [LIBRARIES lib...])
#
# One static library per room of src/vernier. A room sees its own headers and those of the rooms it
# depends on, and no others: each room has an include root of its own that holds one symbolic link,
# so an include that crosses a forbidden border does not compile.
function(vernier_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;DEPENDS;LIBRARIES" ${ARGN})
  string(REPLACE "/" "_" target "vernier_${name}")
  set(root ${CMAKE_BINARY_DIR}/include/${target})
  get_filename_component(parent ${root}/vernier/${name} DIRECTORY)
  file(MAKE_DIRECTORY ${parent})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/src/vernier/${name} ${root}/vernier/${name} SYMBOLIC)

  add_library(${target} STATIC ${ROOM_SOURCES})
  target_include_directories(${target} PUBLIC ${root})
  foreach(dependency ${ROOM_DEPENDS})
    string(REPLACE "/" "_" dependency "vernier_${dependency}")
    target_link_libraries(${target} PUBLIC ${dependency})
  endforeach()
  target_link_libraries(${target} PRIVATE ${ROOM_LIBRARIES})
  if(TARGET vernier_base AND NOT name STREQUAL "base")
    target_precompile_headers(${target} REUSE_FROM vernier_base)
  endif()
endfunction()
