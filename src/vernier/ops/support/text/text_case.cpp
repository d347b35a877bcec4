#include "vernier/ops/support/text/text_case.h"

#include <locale.h>

#include <cwchar>
#include <cwctype>

#include "vernier/base/error.h"

namespace vernier::ops {

namespace {

locale_t utf8_locale() {
  static const locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (locale == nullptr)
    throw unsupported("this system has no locale C.UTF-8, which the case of letters comes from");
  return locale;
}

// Conversion between UTF-8 and wide characters follows the locale of the thread.
class Utf8Thread {
 public:
  Utf8Thread() : previous_(uselocale(utf8_locale())) {}
  ~Utf8Thread() { uselocale(previous_); }
  Utf8Thread(const Utf8Thread&) = delete;
  Utf8Thread& operator=(const Utf8Thread&) = delete;

 private:
  locale_t previous_;
};

template <class Map>
std::string map_letters(const std::string& text, Map map) {
  const Utf8Thread utf8;
  std::string result;
  for (size_t at = 0; at < text.size();) {
    std::mbstate_t reading{}, writing{};
    wchar_t letter = 0;
    const size_t length = std::mbrtowc(&letter, text.data() + at, text.size() - at, &reading);
    if (length == 0 || length > text.size() - at) {  // a zero byte, or no UTF-8
      result += text[at++];
      continue;
    }
    char bytes[16];
    const size_t written =
        std::wcrtomb(bytes, static_cast<wchar_t>(map(static_cast<std::wint_t>(letter))), &writing);
    if (written <= sizeof bytes) result.append(bytes, written);
    at += length;
  }
  return result;
}

}  // namespace

std::string to_lower(const std::string& text) {
  return map_letters(text, [](std::wint_t letter) { return towlower_l(letter, utf8_locale()); });
}

std::string to_upper(const std::string& text) {
  return map_letters(text, [](std::wint_t letter) { return towupper_l(letter, utf8_locale()); });
}

}  // namespace vernier::ops
