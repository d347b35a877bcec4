// StringNormalizer: drops the strings of a [C] or [1, C] tensor that are stop words and changes the case of
// the others. Where all are dropped, one empty string is left. `locale` is ignored: case follows Unicode, the
// same on every machine.
#include <unordered_set>

#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/text/text_case.h"

namespace vernier::ops {

namespace {

void infer_string_normalizer(InferContext& context) {
  const ElementType element = context.element(0);
  const auto& input = context.shape(0);
  if (!input) return context.set_output(0, element, std::nullopt);
  if (input->empty() || input->size() > 2)
    throw bad_input("StringNormalizer takes [C] or [1, C], not {}", shape_text(*input));
  Shape shape = {context.fresh("words")};
  if (input->size() == 2) shape.insert(shape.begin(), Dim(1));
  context.set_output(0, element, std::move(shape));
}

using Change = std::string (*)(const std::string&);

std::string keep(const std::string& text) {
  return text;
}

Change case_change(const std::string& action) {
  if (action == "NONE") return keep;
  if (action == "LOWER") return to_lower;
  if (action == "UPPER") return to_upper;
  throw bad_input("case_change_action must be LOWER, UPPER or NONE, not '{}'", action);
}

void reference_string_normalizer(ReferenceContext& context) {
  const Dims& dims = context.dims(0);
  if (dims.size() == 2 && dims[0] != 1)
    throw bad_input("StringNormalizer takes [C] or [1, C], not {}", dims_text(dims));
  const Change key = context.attribute<int64_t>("is_case_sensitive", 0) != 0 ? keep : to_lower;
  const Change change = case_change(context.attribute<std::string>("case_change_action", "NONE"));
  std::unordered_set<std::string> stopwords;
  for (const std::string& word : context.attribute<std::vector<std::string>>("stopwords", {}))
    stopwords.insert(key(word));

  std::vector<std::string> words;
  for (const std::string& word : context.in(0).values<std::string>()) {
    if (!stopwords.contains(key(word))) words.push_back(change(word));
  }
  if (words.empty()) words.emplace_back();
  Dims out(dims.size(), 1);
  out.back() = static_cast<int64_t>(words.size());
  std::move(words.begin(), words.end(), context.allocate(0, out).mutable_values<std::string>().begin());
}

}  // namespace

void register_string_normalizer(OpRegistry& registry) {
  registry.add({.op = "StringNormalizer",
                .operands = {Role::kData},
                .attributes = {{"case_change_action", "STRING"},
                               {"is_case_sensitive", "INT"},
                               {"locale", "STRING"},
                               {"stopwords", "STRINGS"}},
                .precision = PrecisionClass::kUntried,
                .since = kNoNarrowFloats,
                .infer = infer_string_normalizer,
                .reference = reference_string_normalizer});
}

}  // namespace vernier::ops
