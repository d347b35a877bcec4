// ASCII lower case, for names that are compared by their words. Internal to the room.
#pragma once

#include <string>

namespace vernier {

inline std::string lower_case(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

}  // namespace vernier
