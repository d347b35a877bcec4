#include "vernier/backends/cuda/cudnn/descriptor.h"

#include <fmt/format.h>

#include <array>

namespace vernier::cuda {

DnnDescriptor::DnnDescriptor(const CudnnApi& api, int kind) : api_(api) {
  check(api_.create_descriptor(kind, &pointer_));
}

DnnDescriptor::~DnnDescriptor() {
  if (pointer_ != nullptr) api_.destroy_descriptor(pointer_);
}

void DnnDescriptor::set(int attribute, int type, const void* values, size_t count) {
  check(api_.set(pointer_, attribute, type, static_cast<int64_t>(count), values));
}

void DnnDescriptor::finalize() {
  check(api_.finalize(pointer_));
}

size_t DnnDescriptor::get(int attribute, int type, void* values, size_t most) const {
  int64_t count = 0;
  check(api_.get(pointer_, attribute, type, static_cast<int64_t>(most), &count, values));
  return static_cast<size_t>(count);
}

void DnnDescriptor::check(DnnStatus status) const {
  if (status == kDnnSuccess) return;
  std::array<char, 512> text{};
  api_.last_error(text.data(), text.size());
  throw DnnRefusal{fmt::format("{} {}", api_.status_text(status), text.data())};
}

DnnPlan::DnnPlan(const CudnnApi& api, DnnHandle handle, const DnnDescriptor& configuration)
    : plan(api, kDnnPlan) {
  plan.set(kDnnPlanConfiguration, configuration);
  finalize(handle);
}

DnnPlan::DnnPlan(const CudnnApi& api, DnnHandle handle, const std::string& json) : plan(api, kDnnPlan) {
  plan.set(kDnnPlanJson, kDnnOfChar, json.data(), json.size());
  finalize(handle);
}

void DnnPlan::finalize(DnnHandle handle) {
  plan.set(kDnnPlanHandle, kDnnOfHandle, handle);
  plan.finalize();
  int64_t bytes = 0;
  plan.get(kDnnPlanWorkspace, kDnnOfInt64, &bytes, 1);
  workspace = static_cast<size_t>(bytes);
}

std::string DnnPlan::json() const {
  std::string text(plan.get(kDnnPlanJson, kDnnOfChar, nullptr, 0), '\0');
  text.resize(plan.get(kDnnPlanJson, kDnnOfChar, text.data(), text.size()));
  return text;
}

}  // namespace vernier::cuda
