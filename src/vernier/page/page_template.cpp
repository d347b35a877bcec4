#include "vernier/page/page_template.h"

#ifdef VERNIER_PAGE
// No compiler of ours has #embed; the assembler reads the file.
asm(".pushsection .rodata\n"
    "vernier_page_begin:\n"
    ".incbin \"" VERNIER_PAGE
    "\"\n"
    "vernier_page_end:\n"
    ".byte 0\n"
    ".popsection\n");
extern "C" const char vernier_page_begin[], vernier_page_end[];
#endif

namespace vernier {

std::string_view page_template() {
#ifdef VERNIER_PAGE
  return {vernier_page_begin, static_cast<size_t>(vernier_page_end - vernier_page_begin)};
#else
  return {};
#endif
}

}  // namespace vernier
