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
extern const char kPageBegin[] asm("vernier_page_begin");
extern const char kPageEnd[] asm("vernier_page_end");
#endif

namespace vernier {

std::string_view page_template() {
#ifdef VERNIER_PAGE
  return {kPageBegin, static_cast<size_t>(kPageEnd - kPageBegin)};
#else
  return {};
#endif
}

}  // namespace vernier
