// GridSample of floats: positions and weights in double, once for each point; sums over channels in float.
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/vectors/float_storage.h"
#include "vernier/ops/support/movement/strides.h"
#include "vernier/ops/support/resampling/grid_sampler.h"

namespace vernier::cpu {

namespace {

// Points whose taps are found together, so that each channel gets a run of results.
constexpr int64_t kBlock = 32;

// The taps of a block of points.
struct Taps {
  std::vector<int32_t> index;
  std::vector<float> weight;
  std::array<size_t, kBlock + 1> first;  // of each point
};

class GridSample : public Kernel {
 public:
  explicit GridSample(const KernelRequest& request)
      : dims_(request.in(0).dims), rule_(ops::GridRule::of(request.node)) {
    const Dims& grid = request.in(1).dims;
    name = "cpu:grid-sample";
    contract = float_contract(ElementType::kFloat);
    rank_ = grid.back();
    points_ = ops::product(grid, 1, grid.size() - 1);
    plane_ = ops::product(dims_, 2, dims_.size());
  }

  void run(const KernelArguments& arguments) const override {
    const auto *x = static_cast<const float*>(arguments.inputs[0]),
               *grid = static_cast<const float*>(arguments.inputs[1]);
    auto* y = static_cast<float*>(arguments.outputs[0]);
    const int64_t channels = dims_[1], blocks = (points_ + kBlock - 1) / kBlock;
    const int64_t grain = std::max<int64_t>(1, (1 << 13) / std::max<int64_t>(1, channels * kBlock));
    parallel(dims_[0] * blocks, grain, [&](int64_t begin, int64_t end) {
      ops::GridSampler sampler(dims_, rule_);
      Taps taps;
      for (int64_t block = begin; block < end; ++block) {
        const int64_t image = block / blocks, first = block % blocks * kBlock,
                      count = std::min(kBlock, points_ - first);
        find_taps(grid + (image * points_ + first) * rank_, count, sampler, taps);
        for (int64_t c = image * channels; c < (image + 1) * channels; ++c)
          weigh(taps, x + c * plane_, count, y + c * points_ + first);
      }
    });
  }

 private:
  void find_taps(const float* grid, int64_t count, ops::GridSampler& sampler, Taps& taps) const {
    taps.index.clear();
    taps.weight.clear();
    std::array<double, 8> coordinates{};
    for (int64_t point = 0; point < count; ++point) {
      taps.first[static_cast<size_t>(point)] = taps.index.size();
      std::copy_n(grid + point * rank_, rank_, coordinates.begin());
      if (sampler.sample(coordinates.data())) {
        for (const ops::GridTap& tap : sampler.taps()) {
          taps.index.push_back(static_cast<int32_t>(tap.index));
          taps.weight.push_back(static_cast<float>(tap.weight));
        }
      } else {
        taps.index.push_back(0);
        taps.weight.push_back(std::numeric_limits<float>::quiet_NaN());
      }
    }
    taps.first[static_cast<size_t>(count)] = taps.index.size();
  }

  static void weigh(const Taps& taps, const float* plane, int64_t count, float* y) {
    for (int64_t point = 0; point < count; ++point) {
      float sum = 0;
      const auto at = static_cast<size_t>(point);
      for (size_t i = taps.first[at]; i < taps.first[at + 1]; ++i)
        sum += taps.weight[i] * plane[taps.index[i]];
      y[point] = sum;
    }
  }

  Dims dims_;
  ops::GridRule rule_;
  int64_t rank_, points_, plane_;
};

std::unique_ptr<Kernel> make_grid_sample(const KernelRequest& request, std::string& reason) {
  const Operand &x = request.in(0), &grid = request.in(1);
  const bool floats = x.element == ElementType::kFloat && grid.element == ElementType::kFloat;
  const int64_t plane = ops::product(x.dims, 2, x.dims.size());
  constexpr int64_t kMostRank = 8, kMostPlane = std::numeric_limits<int32_t>::max();
  if (floats && grid.dims.back() <= kMostRank && grid.dims[0] == x.dims[0] && plane > 0 &&
      plane <= kMostPlane)
    return std::make_unique<GridSample>(request);
  reason = fmt::format("no samples of {} {}", element_type_short_name(x.element), dims_text(x.dims));
  return nullptr;
}

}  // namespace

void register_grid_sample(KernelRegistry& registry) {
  for (const char* domain : {"", "com.microsoft"})
    registry.add({domain, "GridSample", LayoutRule::kPlain, Priority::kOwn, make_grid_sample});
}

}  // namespace vernier::cpu
