// Copies of short runs whose length is known before the loop.
#pragma once

#include <cstddef>
#include <cstring>

namespace vernier::cpu {

// Calls body(copy) with a function copy(from, to) that copies `bytes`: in one or two instructions where there
// are 1, 2, 4, 8 or 16.
template <class Body>
void with_run(size_t bytes, const Body& body) {
  switch (bytes) {
    case 1: return body([](const std::byte* from, std::byte* to) { *to = *from; });
    case 2: return body([](const std::byte* from, std::byte* to) { std::memcpy(to, from, 2); });
    case 4: return body([](const std::byte* from, std::byte* to) { std::memcpy(to, from, 4); });
    case 8: return body([](const std::byte* from, std::byte* to) { std::memcpy(to, from, 8); });
    case 16: return body([](const std::byte* from, std::byte* to) { std::memcpy(to, from, 16); });
    default: return body([bytes](const std::byte* from, std::byte* to) { std::memcpy(to, from, bytes); });
  }
}

}  // namespace vernier::cpu
