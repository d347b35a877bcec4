#include "vernier/backends/cpu/onednn/split_bf16.h"

#include <array>

#include "vernier/backends/cpu/onednn/pack_pieces.h"
#include "vernier/backends/cpu/onednn/packed_form.h"
#include "vernier/backends/cpu/parallel.h"

namespace vernier::cpu {

namespace {

using Type = dnnl::memory::data_type;

// Rows that a thread splits at a time: as many as fit the first cache.
constexpr int64_t kGrainElements = 4096;

size_t rounded(size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

class SplitKernel : public Kernel {
 public:
  SplitKernel(std::unique_ptr<DnnlKernel> product, int split, int64_t rows, int64_t depth)
      : product_(std::move(product)), split_(static_cast<size_t>(split)), rows_(rows), depth_(depth) {
    name = product_->name + "+bf16x3";
    contract = product_->contract;
    contract.approximate = true;
    in_place = product_->in_place;
    pieces_bytes_ = rounded(static_cast<size_t>(rows * depth) * 3 * sizeof(uint16_t));
    scratch_bytes = pieces_bytes_ + product_->scratch_bytes;
  }

  void run(const KernelArguments& given) const override {
    auto* pieces = reinterpret_cast<uint16_t*>(given.scratch);
    const auto* from = static_cast<const float*>(given.inputs[split_]);
    const int64_t grain = std::max<int64_t>(1, kGrainElements / depth_);
    if (product_->threads == 1)
      split_rows(from, pieces, rows_, depth_);
    else
      parallel(rows_, grain, [&](int64_t begin, int64_t end) {
        split_rows(from + begin * depth_, pieces + begin * depth_ * 3, end - begin, depth_);
      });
    std::array<const void*, kMaxInputs> inputs;
    std::copy_n(given.inputs, product_->input_count(), inputs.begin());
    inputs[split_] = pieces;
    product_->run({inputs.data(), given.outputs, given.scratch + pieces_bytes_});
  }

  bool reads(size_t input) const override { return product_->reads(input); }
  void prepare() const override { product_->prepare(); }
  bool is_prepared() const override { return product_->is_prepared(); }

  static constexpr size_t kMaxInputs = 32;

 private:
  std::unique_ptr<DnnlKernel> product_;
  size_t split_;
  int64_t rows_, depth_;
  size_t pieces_bytes_ = 0;
};

}  // namespace

bool has_bf16_tiles() {
  return dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core_amx;
}

PackedMemory pack_split(const KernelRequest& request, const Tensor& weights, const dnnl::memory::desc& as_is,
                        int axis, const dnnl::memory::desc& wanted) {
  const auto fill = [weights, as_is, axis, wanted](std::byte* memory) {
    constexpr int64_t kPieces[] = {0, 2, 0};  // hi, lo, hi of hi, hi, lo
    if (pack_pieces(weights.values<float>().data(), as_is, axis, wanted, kPieces, memory)) return;
    // The weights as rows of 2 * depth pieces would do, but the primitive wants them along its own axis:
    // three views of the packed memory's plain form, filled from one split of all.
    const int64_t count = weights.size();
    std::vector<uint16_t> all(static_cast<size_t>(count) * 3);
    split_rows(weights.values<float>().data(), all.data(), 1, count);
    const auto sizes = dims_of(as_is);
    const auto piece_md = retyped(as_is, Type::bf16);
    auto tripled = sizes;
    tripled[static_cast<size_t>(axis)] *= 3;
    const auto whole_md = plain(Type::bf16, Dims(tripled.begin(), tripled.end()));
    dnnl::memory whole(whole_md, dnnl_engine());
    const int64_t part = sizes[static_cast<size_t>(axis)];
    for (int64_t i = 0; i < 3; ++i) {
      auto offsets = dnnl::memory::dims(sizes.size(), 0);
      offsets[static_cast<size_t>(axis)] = i * part;
      dnnl::memory from(piece_md, dnnl_engine(), all.data() + kPieces[i] * count);
      dnnl::memory to(whole_md.submemory_desc(sizes, offsets), dnnl_engine(), whole.get_data_handle());
      dnnl::reorder(from, to).execute(thread_stream(), from, to);
    }
    dnnl::memory to(wanted, dnnl_engine(), memory);
    dnnl::reorder(whole, to).execute(thread_stream(), whole, to);
    thread_stream().wait();
  };
  return pack(request, weights, fmt::format("{} {} {}", kSplitTactic, axis, packed_form(as_is, wanted)),
              wanted, fill);
}

Argument weights_argument(const KernelRequest& request, int input, const dnnl::memory::desc& as_is,
                          const dnnl::memory::desc& wanted, std::optional<int> split_axis) {
  const Tensor* content = request.in(static_cast<size_t>(input)).constant;
  if (content == nullptr) return {DNNL_ARG_WEIGHTS, as_is, input, -1, std::nullopt};
  return {DNNL_ARG_WEIGHTS, wanted, -1, -1,
          split_axis ? pack_split(request, *content, as_is, *split_axis, wanted)
                     : pack(request, *content, as_is, wanted)};
}

std::unique_ptr<Kernel> make_split_kernel(std::unique_ptr<DnnlKernel> product, int split, int64_t rows,
                                          int64_t depth) {
  if (product->input_count() > SplitKernel::kMaxInputs) return nullptr;
  return std::make_unique<SplitKernel>(std::move(product), split, rows, depth);
}

}  // namespace vernier::cpu
