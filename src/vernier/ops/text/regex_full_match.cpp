// RegexFullMatch: whether each string matches a pattern of RE2's syntax from its first to its last character.
#include <re2/re2.h>

#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"

namespace vernier::ops {

namespace {

void infer_regex_full_match(InferContext& context) {
  context.element(0);
  context.set_output(0, ElementType::kBool, context.shape(0));
}

void reference_regex_full_match(ReferenceContext& context) {
  const auto pattern = context.attribute<std::string>("pattern", "");
  const re2::RE2 expression(pattern, re2::RE2::Quiet);
  if (!expression.ok()) throw bad_input("'{}' is no regular expression: {}", pattern, expression.error());
  std::vector<int64_t> matches;
  for (const std::string& text : context.in(0).values<std::string>())
    matches.push_back(re2::RE2::FullMatch(text, expression));
  context.store_ints(0, context.dims(0), matches);
}

}  // namespace

void register_regex_full_match(OpRegistry& registry) {
  registry.add({.op = "RegexFullMatch",
                .operands = {Role::kData},
                .attributes = {{"pattern", "STRING"}},
                .traits = kPointwise,
                .since = kNoNarrowFloats,
                .infer = infer_regex_full_match,
                .reference = reference_regex_full_match});
}

}  // namespace vernier::ops
