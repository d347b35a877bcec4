# Compile and link options shared by every target.

# A compiler cache, where there is one. Paths below the checkout are relative to it, so that a fresh clone finds what another made.
find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=true
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE})
endif()
add_compile_options(-Wall -Wextra -Werror -fno-math-errno)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options(-Wno-pass-failed)  # a loop that the sanitizers keep from being vectorised is no error
  add_compile_options("SHELL:-Xclang -fno-pch-timestamp")  # the same precompiled header makes the same objects: compiler caches
endif()
find_program(LLD ld.lld)  # not mold 1.10: a program whose code ends 4 bytes before a page does not start (RELRO from .tbss on)
if(LLD AND CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
  add_link_options(-fuse-ld=lld)
endif()
if(VERNIER_SANITIZE)
  add_compile_options(-fsanitize=${VERNIER_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${VERNIER_SANITIZE})
  add_compile_definitions(VERNIER_SANITIZED)
endif()
