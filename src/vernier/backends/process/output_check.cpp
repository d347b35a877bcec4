#include "vernier/backends/process/output_check.h"

namespace vernier {

void check_names(const std::vector<std::string>& answered, const std::vector<std::string>& stored,
                 const Model* model, const std::vector<std::string>& taps) {
  std::set<std::string> said;
  for (const std::string& name : answered) {
    if (!said.insert(name).second) throw bad_input("it says twice that it returned '{}'", name);
  }
  const std::set<std::string> there(stored.begin(), stored.end());
  for (const std::string& name : said) {
    if (!there.contains(name))
      throw bad_input("it says that it returned '{}', but the file of outputs lacks it", name);
  }
  for (const std::string& name : there) {
    if (!said.contains(name))
      throw bad_input("the file of outputs holds '{}', of which the answer says nothing", name);
  }
  if (model == nullptr) return;
  std::set<std::string> allowed(taps.begin(), taps.end());
  for (const Value* output : model->graph->outputs) {
    if (!there.contains(output->name))
      throw bad_input("it did not return the output '{}' ({})", output->name, output->type.text());
    allowed.insert(output->name);
  }
  for (const std::string& name : there) {
    if (!allowed.contains(name))
      throw bad_input("it returned '{}', which is neither an output of the model nor asked for", name);
  }
}

void check_type(const std::string& name, const Datum& datum, const ValueType& declared) {
  if (declared.kind == ValueType::Kind::kOptional) {
    if (datum.kind != Datum::Kind::kNone) check_type(name, datum, *declared.element);
    return;
  }
  if (datum.kind != (declared.has_parts() ? Datum::Kind::kSequence : Datum::Kind::kTensor)) {
    throw bad_input("it returned '{}' as another kind of value than the model's {}", name, declared.text());
  }
  if (declared.has_parts()) {
    if (declared.kind == ValueType::Kind::kMap) datum.as_map();
    for (size_t i = 0; i < datum.sequence->size(); ++i)
      check_type(name, (*datum.sequence)[i], declared.part(i));
    return;
  }
  const Tensor& tensor = datum.tensor;
  bool fits = declared.tensor.element == ElementType::kUndefined || tensor.type() == declared.tensor.element;
  if (const auto& shape = declared.tensor.shape) {
    fits = fits && static_cast<int64_t>(shape->size()) == tensor.rank();
    for (size_t i = 0; fits && i < shape->size(); ++i) {
      const auto size = (*shape)[i].constant();
      fits = !size || *size == tensor.dims()[i];
    }
  }
  if (fits) return;
  throw bad_input("it returned '{}' as {}{}, but in the model it is {}", name,
                  element_type_short_name(tensor.type()), dims_text(tensor.dims()), declared.text());
}

}  // namespace vernier
