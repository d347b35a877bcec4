// DictVectorizer (ai.onnx.ml): the values of a map, each at the place where a vocabulary has its key; 0 or an
// empty string where the map lacks it.
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/ml/lookup.h"
#include "vernier/ops/support/ml/map_datum.h"
#include "vernier/ops/support/movement/tensor_parts.h"

namespace vernier::ops {

namespace {

using Strings = std::vector<std::string>;
using Ints = std::vector<int64_t>;

void infer_dict_vectorizer(InferContext& context) {
  const ValueType& type = context.type(0);
  if (type.kind != ValueType::Kind::kMap) throw bad_input("DictVectorizer takes a map, not {}", type.text());
  const size_t words = context.attribute<Strings>("string_vocabulary", {}).size(),
               numbers = context.attribute<Ints>("int64_vocabulary", {}).size();
  if ((type.tensor.element == ElementType::kString ? numbers : words) != 0 || (words == 0 && numbers == 0))
    throw bad_input("the vocabulary does not have the keys of {}", type.text());
  context.set_output(0, type.element->tensor.element, Shape{static_cast<int64_t>(std::max(words, numbers))});
}

std::vector<int64_t> places_of_words(const ReferenceContext& context, const Tensor& keys) {
  if (keys.type() == ElementType::kString) {
    const auto texts = keys.values<std::string>();
    return find_in<std::string>({texts.begin(), texts.end()},
                                context.attribute<Strings>("string_vocabulary", {}));
  }
  return find_in<int64_t>(keys.to_ints(), context.attribute<Ints>("int64_vocabulary", {}));
}

void reference_dict_vectorizer(ReferenceContext& context) {
  const auto [keys, values] = context.datum(0).as_map();
  auto places = places_of_words(context, keys);
  // A key that is not found stands for the element behind the last.
  std::replace(places.begin(), places.end(), kNotFound, values.size());
  context.emit(0, take(concat_axis(std::vector{values, Tensor(values.type(), {1})}, 0), places));
}

}  // namespace

void register_dict_vectorizer(OpRegistry& registry) {
  registry.add({.domain = "ai.onnx.ml",
                .op = "DictVectorizer",
                .operands = {Role::kData},
                .attributes = {{"int64_vocabulary", "INTS"}, {"string_vocabulary", "STRINGS"}},
                .traits = kDataMovement,
                .infer = infer_dict_vectorizer,
                .reference = reference_dict_vectorizer});
}

}  // namespace vernier::ops
