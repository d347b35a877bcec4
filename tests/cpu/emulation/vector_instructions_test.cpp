// The emulation of AVX-512 does what the processor does, to the bit where that is defined.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <string>

#include "vector_cases.h"
#include "vector_references.h"

namespace vernier::cpu {
namespace {

bool processor_has_all() {
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
         __builtin_cpu_supports("avx512vnni") != 0 && __builtin_cpu_supports("avx512bf16") != 0 &&
         __builtin_cpu_supports("avx512vbmi") != 0;
}

constexpr uint32_t kSpecial[] = {
    0x00000000, 0x80000000, 0x00000001, 0x807FFFFF, 0x007FFFFF, 0x00800000, 0x80800000,  // around 2^-126
    0x3F800000, 0xBF800000, 0x3F000000, 0x3FC00000, 0xC0200000, 0x4B000001, 0xCB000001,  // 1, 0.5, 1.5, 2^23
    0x3F808000, 0x3F818000, 0x3F807FFF, 0x3F808001, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F7F8000,  // ties of bfloat16
    0x4F000000, 0xCF000000, 0x4EFFFFFF, 0x43000000, 0xC3150000, 0x42FE0000, 0xC3160000,  // 2^31, 128, -149
    0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC12345, 0x7F800001, 0x7F00FF80, 0x00FF7F80};

enum class Inputs : uint8_t { kBits, kSpecial, kOrdinary };

class Generator {
 public:
  VectorInput input(Inputs inputs) {
    VectorInput result{};
    for (auto* bytes : {result.a, result.b, result.c}) {
      for (size_t i = 0; i < 16; ++i) {
        const uint32_t lane = this->lane(inputs);
        std::memcpy(bytes + 4 * i, &lane, sizeof(lane));
      }
    }
    const uint64_t bits = uint64_t{random()} << 32 | random();
    switch (random() % 4) {
      case 0: result.mask = ~uint64_t{0}; break;
      case 1: result.mask = bits; break;
      default: result.mask = (uint64_t{1} << bits % 64) - 1;  // the first lanes
    }
    return result;
  }

 private:
  uint32_t random() { return static_cast<uint32_t>(engine_()); }
  uint32_t lane(Inputs inputs) {
    const bool is_special = inputs == Inputs::kSpecial && random() % 4 != 0;
    if (is_special) return kSpecial[random() % std::size(kSpecial)];
    if (inputs == Inputs::kBits) return random();
    const auto exponent = static_cast<int>(random() % 24) - 12;
    return std::bit_cast<uint32_t>(
        std::ldexp(static_cast<float>(static_cast<int32_t>(random())) * 0x1p-31F, exponent));
  }

  std::mt19937 engine_{7};
};

std::array<float, 16> floats(const uint8_t* bytes) {
  std::array<float, 16> result;
  std::memcpy(result.data(), bytes, sizeof(result));
  return result;
}

bool is_equal(float x, float y) {
  return std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(y) || (std::isnan(x) && std::isnan(y));
}

// Whether both are what the instruction gives.
bool agree(VectorResult result, const VectorInput& input, const CaseOutput& one, const CaseOutput& other) {
  const auto x = floats(one.bytes), y = floats(other.bytes), a = floats(input.a);
  switch (result) {
    case VectorResult::kBits: return std::memcmp(one.bytes, other.bytes, sizeof(one.bytes)) == 0;
    case VectorResult::kSum: {
      float size = 0;
      for (const float term : a) size += std::abs(term);
      return !std::isfinite(size) || std::abs(x[0] - y[0]) <= 16 * 0x1p-24F * size;
    }
    default: break;
  }
  for (size_t i = 0; i < x.size(); ++i) {
    // A reciprocal that is subnormal has fewer digits, and no number that is may be infinite, or not.
    const bool is_near =
        result == VectorResult::kReciprocal && std::abs(x[i] - y[i]) <= 0x1p-13F * std::abs(y[i]);
    if (!is_equal(x[i], y[i]) && !is_near) return false;
  }
  return true;
}

CaseOutput output_of(const VectorCase& each, const VectorInput& input) {
  CaseOutput output;
  std::memset(output.bytes, 0x5A, sizeof(output.bytes));
  VectorInput loaded = input;
  loaded.from = loaded.a;
  each.run(loaded, output.bytes);
  return output;
}

// Runs `expected(input, output)` and the case on many inputs.
template <class Expected>
void expect_agreement(const VectorCase& each, const Expected& expected) {
  SCOPED_TRACE(each.name);
  Generator generator;
  for (int i = 0; i < 3000; ++i) {
    const VectorInput input = generator.input(static_cast<Inputs>(i % 3));
    if (!agree(each.result, input, output_of(each, input), expected(input))) {
      ADD_FAILURE() << "input " << i << testing::PrintToString(floats(output_of(each, input).bytes))
                    << " not " << testing::PrintToString(floats(expected(input).bytes));
      return;
    }
  }
}

void expect_references(std::span<const VectorCase> cases) {
  size_t found = 0;
  for (const VectorCase& each : cases) {
    const auto reference = vector_references().find(each.name);
    if (reference == vector_references().end()) continue;
    ++found;
    expect_agreement(each, [&](const VectorInput& input) {
      CaseOutput output;
      std::memset(output.bytes, 0x5A, sizeof(output.bytes));
      reference->second(input, output.bytes);
      return output;
    });
  }
  EXPECT_EQ(found, vector_references().size());
}

TEST(VectorInstructions, EmulatedOnesDoAsDefined) {
  expect_references(emulated_vectors());
}

TEST(VectorInstructions, ProcessorsDoAsDefined) {
  if (!processor_has_all()) GTEST_SKIP() << "needs a processor with AVX-512, to compare with";
  expect_references(native_vectors());
}

TEST(VectorInstructions, EmulatedOnesDoAsProcessors) {
  if (!processor_has_all()) GTEST_SKIP() << "needs a processor with AVX-512, to compare with";
  const auto emulated = emulated_vectors(), native = native_vectors();
  ASSERT_EQ(emulated.size(), native.size());
  for (size_t i = 0; i < emulated.size(); ++i) {
    ASSERT_STREQ(emulated[i].name, native[i].name);
    expect_agreement(emulated[i], [&](const VectorInput& input) { return output_of(native[i], input); });
  }
}

// A page, behind which there is nothing.
class Page {
 public:
  Page()
      : begin_(static_cast<uint8_t*>(
            mmap(nullptr, 2 * kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    mprotect(begin_ + kSize, kSize, PROT_NONE);
  }
  ~Page() { munmap(begin_, 2 * kSize); }
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;
  uint8_t* end() const { return begin_ + kSize; }

 private:
  static constexpr size_t kSize = 4096;
  uint8_t* begin_;
};

// Bytes of a lane of a masked load or store; 0 of others.
int64_t lane_of(const std::string& name) {
  if (name.find("loadu") == std::string::npos && name.find("storeu") == std::string::npos) return 0;
  return name.find("_ps") != std::string::npos ? 4 : name.find("_epi16") != std::string::npos ? 2 : 1;
}

TEST(VectorInstructions, MasksKeepMemoryUntouched) {
  const Page page;
  size_t found = 0;
  for (const VectorCase& each : emulated_vectors()) {
    const int64_t lane = lane_of(each.name);
    if (lane == 0) continue;
    ++found;
    const bool stores = std::strstr(each.name, "storeu") != nullptr;
    for (const uint64_t mask : {0x0, 0x1, 0x1F, 0x15}) {
      SCOPED_TRACE(fmt::format("{} with {:#x}", each.name, mask));
      uint8_t* at = page.end() - lane * std::bit_width(mask);  // its last lane is the last one of the page
      std::fill(page.end() - 64, page.end(), static_cast<uint8_t>(stores ? 0 : 1));
      VectorInput input{};
      std::fill_n(input.a, 64, uint8_t{1});
      input.mask = mask;
      input.from = stores ? input.a : at;
      CaseOutput output{};
      each.run(input, stores ? at : output.bytes);
      const int64_t count = stores ? std::count(page.end() - 64, page.end(), 1)
                                   : std::count(output.bytes, output.bytes + 64, 1);
      EXPECT_EQ(count, lane * std::popcount(mask));
    }
  }
  EXPECT_EQ(found, 13U);
}

}  // namespace
}  // namespace vernier::cpu
