#include "vernier/backends/cpu/movement/index_copy.h"

#include "vernier/backends/cpu/movement/copy_run.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/ops/support/movement/strides.h"

namespace vernier::cpu {

namespace {

constexpr int64_t kBytesPerThread = 1 << 16;

bool is_unchanged(const std::vector<int64_t>& sources, int64_t size) {
  if (static_cast<int64_t>(sources.size()) != size) return false;
  for (size_t i = 0; i < sources.size(); ++i) {
    if (sources[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

}  // namespace

IndexCopyKernel::IndexCopyKernel(std::string_view what, size_t width, const Dims& dims,
                                 std::vector<std::vector<int64_t>> sources)
    : sources_(std::move(sources)), run_(width) {
  name = fmt::format("cpu:{}", what);
  auto steps = ops::strides_of(dims);
  for (int64_t& step : steps) step *= static_cast<int64_t>(width);
  // Unchanged axes at the end are runs.
  while (sources_.size() > 1 && is_unchanged(sources_.back(), dims[sources_.size() - 1])) {
    run_ *= sources_.back().size();
    sources_.pop_back();
  }
  for (size_t i = 0; i < sources_.size(); ++i) {
    for (int64_t& source : sources_[i]) source *= steps[i];
    if (i + 1 < sources_.size()) rows_ *= static_cast<int64_t>(sources_[i].size());
  }
}

void IndexCopyKernel::run(const KernelArguments& arguments) const {
  const auto& row = sources_.back();
  const int64_t row_bytes = static_cast<int64_t>(row.size() * run_);
  if (row_bytes == 0) return;
  const auto* x = static_cast<const std::byte*>(arguments.inputs[0]);
  auto* y = static_cast<std::byte*>(arguments.outputs[0]);
  parallel(rows_, std::max<int64_t>(1, kBytesPerThread / row_bytes), [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; ++at) {
      const std::byte* from = x;
      int64_t rest = at;
      for (size_t axis = sources_.size() - 1; axis-- > 0;) {
        const auto size = static_cast<int64_t>(sources_[axis].size());
        from += sources_[axis][static_cast<size_t>(rest % size)];
        rest /= size;
      }
      with_run(run_, [&](auto copy) {
        std::byte* to = y + at * row_bytes;
        for (const int64_t source : row) {
          copy(from + source, to);
          to += run_;
        }
      });
    }
  });
}

}  // namespace vernier::cpu
