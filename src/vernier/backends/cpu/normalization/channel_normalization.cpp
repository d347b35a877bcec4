// InstanceNormalization, GroupNormalization, and BatchNormalization with given statistics: of images in plain
// and in channels-last memory.
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/normalization/row_statistics.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/reduction/column_fold.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/movement/strides.h"

namespace vernier::cpu {

namespace {

constexpr int64_t kGrain = 1 << 13;

int64_t grain_of(int64_t work) {
  return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, work));
}

struct Image {
  int64_t batch, channels, inner;
  bool channels_last;

  explicit Image(const Operand& x)
      : batch(x.dims[0]),
        channels(x.dims[1]),
        inner(ops::product(x.dims, 2, x.dims.size())),
        channels_last(x.layout == Layout::kChannelsLast || inner == 1) {}
};

class ChannelKernel : public Kernel {
 public:
  ChannelKernel(const KernelRequest& request, const char* kernel_name)
      : image_(request.in(0)), element_(request.in(0).element) {
    name = kernel_name;
    contract = float_contract(element_);
    in_place = 0;
    for (size_t i = 1; i < request.inputs.size(); ++i) parameter_types_.push_back(request.in(i).element);
  }

 protected:
  double parameter(const KernelArguments& arguments, size_t input, int64_t index) const {
    float buffer = 0;
    return static_cast<double>(
        *load_floats(parameter_types_[input - 1], arguments.inputs[input], index, 1, &buffer));
  }

  // y = (x - mean) * factor + shift by channels: `at` is where the three vectors of an image lie.
  template <class At>
  void apply(const KernelArguments& arguments, float* wide, const At& at) const {
    const int64_t length = image_.channels_last ? image_.channels : image_.inner;
    const int64_t rows = image_.batch * (image_.channels_last ? image_.inner : image_.channels);
    parallel(rows, grain_of(length), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t first = row * length;
        const float* x = load_floats(element_, arguments.inputs[0], first, length, wide + first);
        float* y = float_target(element_, arguments.outputs[0], first, wide + first);
        if (image_.channels_last) {
          const float* vectors = at(row / image_.inner);
          affine_each(x, length, vectors, vectors + image_.channels, vectors + 2 * image_.channels, y);
        } else {
          const float* vectors = at(row / image_.channels) + row % image_.channels;
          affine_row(x, length, vectors[0], vectors[image_.channels], vectors[2 * image_.channels], y);
        }
        store_floats(element_, y, length, arguments.outputs[0], first);
      }
    });
  }

  int64_t wide_floats() const {
    return is_narrow(element_) ? image_.batch * image_.channels * image_.inner : 0;
  }

  Image image_;
  ElementType element_;
  std::vector<ElementType> parameter_types_;
};

class BatchNormalization : public ChannelKernel {
 public:
  explicit BatchNormalization(const KernelRequest& request)
      : ChannelKernel(request, "cpu:batch_norm"), epsilon_(ops::real_attribute(request.node, "epsilon")) {
    scratch_bytes = sizeof(float) * static_cast<size_t>(3 * image_.channels + wide_floats());
  }

  void run(const KernelArguments& arguments) const override {
    auto* vectors = reinterpret_cast<float*>(arguments.scratch);
    const int64_t channels = image_.channels;
    for (int64_t c = 0; c < channels; ++c) {
      vectors[c] = static_cast<float>(parameter(arguments, 3, c));
      const double deviation = std::sqrt(parameter(arguments, 4, c) + static_cast<double>(epsilon_));
      vectors[channels + c] = static_cast<float>(parameter(arguments, 1, c) / deviation);
      vectors[2 * channels + c] = static_cast<float>(parameter(arguments, 2, c));
    }
    apply(arguments, vectors + 3 * channels, [vectors](int64_t) { return vectors; });
  }

 private:
  float epsilon_;
};

// Statistics of each group of channels of each image.
class GroupNormalization : public ChannelKernel {
 public:
  GroupNormalization(const KernelRequest& request, int64_t groups)
      : ChannelKernel(request, "cpu:group_norm"),
        groups_(groups),
        per_channel_(request.in(1).size() == image_.channels),
        epsilon_(ops::real_attribute(request.node, "epsilon")) {
    const int64_t vectors = image_.batch * image_.channels;
    scratch_bytes = sizeof(double) * static_cast<size_t>(vectors) +
                    sizeof(float) * static_cast<size_t>(3 * vectors + wide_floats());
  }

  void run(const KernelArguments& arguments) const override {
    const int64_t channels = image_.channels, all = image_.batch * channels;
    auto* sums = reinterpret_cast<double*>(arguments.scratch);
    auto* vectors = reinterpret_cast<float*>(sums + all);  // mean, factor, shift of an image, then the next
    float* wide = vectors + 3 * all;
    fold_channels(arguments, Fold::kSum, vectors, sums);
    const int64_t elements = channels / groups_ * image_.inner;
    const auto count = static_cast<double>(elements);
    for_each_channel(sums, [&](int64_t image, int64_t channel, double sum) {
      vectors[image * 3 * channels + channel] = static_cast<float>(sum / count);
    });
    fold_channels(arguments, Fold::kSquare, vectors, sums);
    for_each_channel(sums, [&](int64_t image, int64_t channel, double sum) {
      float* own = vectors + image * 3 * channels + channel;
      const int64_t at = per_channel_ ? channel : channel / (channels / groups_);
      own[channels] = static_cast<float>(parameter(arguments, 1, at) /
                                         std::sqrt(sum / count + static_cast<double>(epsilon_)));
      own[2 * channels] = static_cast<float>(parameter(arguments, 2, at));
    });
    apply(arguments, wide, [=](int64_t image) { return vectors + image * 3 * channels; });
  }

 private:
  // One fold for each channel of each image; shifts are the means in `vectors`.
  void fold_channels(const KernelArguments& arguments, Fold kind, const float* vectors, double* sums) const {
    const int64_t channels = image_.channels, inner = image_.inner;
    std::fill_n(sums, image_.batch * channels, 0.0);
    if (image_.channels_last) {
      const int64_t tiles = (channels + kTileColumns - 1) / kTileColumns;
      parallel(image_.batch * tiles, grain_of(inner * kTileColumns), [&](int64_t begin, int64_t end) {
        for (int64_t task = begin; task < end; ++task) {
          const int64_t image = task / tiles, channel = task % tiles * kTileColumns;
          fold_tile({element_, arguments.inputs[0], channels}, kind, image * inner * channels + channel,
                    inner, std::min(kTileColumns, channels - channel),
                    vectors + image * 3 * channels + channel, sums + image * channels + channel);
        }
      });
      return;
    }
    parallel(image_.batch * channels, grain_of(inner), [&](int64_t begin, int64_t end) {
      alignas(64) std::array<float, kFoldBlock> buffer;
      for (int64_t row = begin; row < end; ++row) {
        const float shift = vectors[row / channels * 3 * channels + row % channels];
        for (int64_t first = 0; first < inner; first += kFoldBlock) {
          const int64_t count = std::min(kFoldBlock, inner - first);
          const float* x =
              load_floats(element_, arguments.inputs[0], row * inner + first, count, buffer.data());
          sums[row] += static_cast<double>(fold_row(kind, x, count, kind == Fold::kSquare ? shift : 0));
        }
      }
    });
  }

  // Calls set(image, channel, the sum of the channel's group).
  template <class Set>
  void for_each_channel(const double* sums, const Set& set) const {
    const int64_t channels = image_.channels, members = channels / groups_;
    for (int64_t image = 0; image < image_.batch; ++image) {
      for (int64_t group = 0; group < groups_; ++group) {
        const double* own = sums + image * channels + group * members;
        double sum = 0;
        for (int64_t i = 0; i < members; ++i) sum += own[i];
        for (int64_t i = 0; i < members; ++i) set(image, group * members + i, sum);
      }
    }
  }

  int64_t groups_;
  bool per_channel_;
  float epsilon_;
};

bool serves(const KernelRequest& request, std::initializer_list<int64_t> sizes, std::string& reason) {
  const Operand& x = request.in(0);
  bool result =
      is_float_storage(x.element) && x.rank() >= 2 && x.layout != Layout::kBlocked16 && x.size() > 0;
  for (size_t i = 1; i < request.inputs.size(); ++i) {
    result = result && is_float_storage(request.in(i).element) &&
             std::find(sizes.begin(), sizes.end(), request.in(i).size()) != sizes.end();
  }
  if (!result) reason = fmt::format("no {} of such inputs", request.node.op);
  return result;
}

std::unique_ptr<Kernel> make_batch(const KernelRequest& request, std::string& reason) {
  const Node& node = request.node;
  const Operand& x = request.in(0);
  const bool spatial = node.version >= 9 || ops::integer_attribute(node, "spatial") != 0;
  if (ops::integer_attribute(node, "training_mode") != 0 || node.outputs.size() > 1 || !spatial ||
      x.rank() < 2) {
    reason = "only BatchNormalization with given statistics of channels";
    return nullptr;
  }
  if (!serves(request, {x.dims[1]}, reason)) return nullptr;
  return std::make_unique<BatchNormalization>(request);
}

std::unique_ptr<Kernel> make_group(const KernelRequest& request, std::string& reason) {
  const Operand& x = request.in(0);
  const bool instance = request.node.op == "InstanceNormalization";
  const int64_t channels = x.rank() >= 2 ? x.dims[1] : 0;
  const int64_t groups = instance ? channels : ops::integer_attribute(request.node, "num_groups");
  if (groups < 1 || channels % groups != 0) {
    reason = fmt::format("{} channels in {} groups", channels, groups);
    return nullptr;
  }
  const int64_t parameters = instance || request.node.version >= 21 ? channels : groups;
  if (!serves(request, {parameters}, reason)) return nullptr;
  return std::make_unique<GroupNormalization>(request, groups);
}

}  // namespace

void register_channel_normalization(KernelRegistry& registry) {
  registry.add({"", "BatchNormalization", LayoutRule::kFollow, Priority::kOwn, make_batch});
  registry.add({"", "InstanceNormalization", LayoutRule::kFollow, Priority::kOwn, make_group});
  registry.add({"", "GroupNormalization", LayoutRule::kFollow, Priority::kOwn, make_group});
}

}  // namespace vernier::cpu
