// The codes of all findings, for people who look one up: docs/errors.md is made from this list.
#pragma once

#include <span>
#include <string_view>

namespace vernier {

enum class FoundBy : uint8_t {
  kModel,   // the graph alone
  kData,    // what the reference computes on data
  kEngine,  // what an engine shows of itself, without a reference
  kTarget,  // another runtime, or the rules of one
};
std::string_view found_by_name(FoundBy found_by);

struct FindingCode {
  std::string_view code;   // "B14-cast-chain", as in Finding::rule; codes that begin with B name their class
  std::string_view title;  // what is wrong, in a few words
  FoundBy found_by;
};

// In the order of their classes, then those of structure, engines and other runtimes. A test compares the
// list with the codes that the sources report.
std::span<const FindingCode> finding_codes();

}  // namespace vernier
