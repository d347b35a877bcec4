// StringSplit: the pieces of each string, padded with empty strings to a common number, and the number of
// each. Without a delimiter, pieces are what whitespace separates, however much of it. After `maxsplit`
// splits the rest is one piece.
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"

namespace vernier::ops {

namespace {

constexpr std::string_view kWhitespace = " \t\n\v\f\r";

void infer_string_split(InferContext& context) {
  const ElementType element = context.element(0);
  auto shape = context.shape(0);
  context.set_output(1, ElementType::kInt64, shape);
  if (shape) shape->push_back(context.fresh("pieces"));
  context.set_output(0, element, std::move(shape));
}

std::vector<std::string_view> split_at(std::string_view text, std::string_view delimiter, size_t splits) {
  std::vector<std::string_view> pieces;
  while (pieces.size() < splits) {
    const size_t end = text.find(delimiter);
    if (end == std::string_view::npos) break;
    pieces.push_back(text.substr(0, end));
    text.remove_prefix(end + delimiter.size());
  }
  pieces.push_back(text);
  return pieces;
}

std::vector<std::string_view> split_words(std::string_view text, size_t splits) {
  std::vector<std::string_view> pieces;
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(kWhitespace), text.size()));
    if (text.empty()) return pieces;
    const size_t end =
        pieces.size() < splits ? std::min(text.find_first_of(kWhitespace), text.size()) : text.size();
    pieces.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

void reference_string_split(ReferenceContext& context) {
  const auto delimiter = context.attribute<std::string>("delimiter", "");
  const auto limit = context.attribute<int64_t>("maxsplit", -1);
  const size_t splits = limit < 0 ? std::numeric_limits<size_t>::max() : static_cast<size_t>(limit);

  std::vector<std::vector<std::string_view>> pieces;
  std::vector<int64_t> counts;
  for (const std::string& text : context.in(0).values<std::string>()) {
    pieces.push_back(delimiter.empty() ? split_words(text, splits) : split_at(text, delimiter, splits));
    counts.push_back(static_cast<int64_t>(pieces.back().size()));
  }
  const int64_t width = counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
  Dims dims = context.dims(0);
  context.store_ints(1, dims, counts);
  dims.push_back(width);
  auto to = context.allocate(0, dims).mutable_values<std::string>().begin();
  for (const auto& row : pieces) {
    std::copy(row.begin(), row.end(), to);
    to += width;
  }
}

}  // namespace

void register_string_split(OpRegistry& registry) {
  registry.add({.op = "StringSplit",
                .operands = {Role::kData},
                .max_outputs = 2,
                .attributes = {{"delimiter", "STRING"}, {"maxsplit", "INT"}},
                .precision = PrecisionClass::kUntried,
                .since = kNoNarrowFloats,
                .infer = infer_string_split,
                .reference = reference_string_split});
}

}  // namespace vernier::ops
