#include "vernier/run/label_counter.h"

#include <algorithm>
#include <cmath>

namespace vernier {

LabelCounter::LabelCounter(const Labels& labels, const std::vector<Runner*>& runners) : labels_(labels) {
  for (Runner* runner : runners) accuracies_.push_back({runner->name(), 0, 0});
  next_.resize(runners.size());
}

int64_t LabelCounter::label(size_t index, size_t classes) const {
  const int64_t label = labels_.classes[index];
  if (label < 0 || label >= static_cast<int64_t>(classes))
    throw bad_input("--labels: label {} at index {} is none of the {} classes", label, index, classes)
        .advise("labels count from 0; a background class shifts them");
  return label;
}

void LabelCounter::add(size_t runner, const Trace& trace) {
  const TraceEntry* entry = nullptr;
  for (const TraceEntry& candidate : trace.entries) {
    if (candidate.is_output && (labels_.output.empty() || candidate.value == labels_.output)) {
      entry = &candidate;
      break;
    }
  }
  if (entry == nullptr) throw usage_error("--labels-output: no output '{}'", labels_.output);
  const Tensor& tensor = entry->datum.as_tensor();
  if (tensor.rank() < 1 || tensor.dims().back() < 2)
    throw usage_error("--labels: output '{}' of sizes {} has no classes", entry->value,
                      dims_text(tensor.dims()));
  const auto values = tensor.to_doubles();
  const auto classes = static_cast<size_t>(tensor.dims().back());
  for (size_t row = 0; row < values.size(); row += classes) {
    if (next_[runner] >= labels_.classes.size())
      throw usage_error("--labels holds {} labels, but the data have more rows", labels_.classes.size());
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(row),
               end = begin + static_cast<std::ptrdiff_t>(classes);
    const bool has_nan = std::any_of(begin, end, [](double value) { return std::isnan(value); });
    const auto best = std::max_element(begin, end) - begin;
    const int64_t wanted = label(next_[runner], classes);
    accuracies_[runner].right += !has_nan && best == wanted;
    ++accuracies_[runner].rows;
    ++next_[runner];
  }
}

std::vector<Accuracy> LabelCounter::result() const {
  for (size_t i = 0; i < next_.size(); ++i) {
    if (next_[i] != labels_.classes.size())
      throw usage_error("--labels holds {} labels, but {} made {} rows", labels_.classes.size(),
                        accuracies_[i].runner, next_[i]);
  }
  return accuracies_;
}

}  // namespace vernier
