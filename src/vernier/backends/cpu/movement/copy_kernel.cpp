#include "vernier/backends/cpu/movement/copy_kernel.h"

#include "vernier/backends/cpu/movement/strided_copy.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/ops/support/movement/strides.h"

namespace vernier::cpu {

namespace {

constexpr int64_t kBlock = 16;
constexpr size_t kChannel = 1;

bool is_blocked(const Operand& operand) {
  return operand.layout == Layout::kBlocked16 && operand.rank() >= 3;
}

// Steps of a blocked operand: those of the channels hold inside a block.
std::vector<int64_t> blocked_steps(const Operand& operand) {
  const auto width = static_cast<int64_t>(element_size(operand.element));
  const Dims memory = physical_dims(operand.dims, Layout::kBlocked16);
  const auto strides = ops::strides_of(memory);
  std::vector<int64_t> steps{strides[0] * width, width};
  for (size_t i = 2; i < operand.dims.size(); ++i) steps.push_back(strides[i] * width);
  return steps;
}

int64_t offset_of(const Operand& operand, const std::vector<int64_t>& steps, const Dims& at) {
  int64_t offset = 0;
  for (size_t i = 0; i < at.size(); ++i) offset += at[i] * steps[i];
  if (is_blocked(operand)) {
    // Whole blocks of channels lie apart.
    const int64_t block_bytes = kBlock * ops::product(operand.dims, 2, operand.dims.size()) * steps[kChannel];
    offset += at[kChannel] / kBlock * (block_bytes - kBlock * steps[kChannel]);
  }
  return offset;
}

// How many channels from `at` on lie in one block; `limit` at most.
int64_t channels_in_block(const Operand& operand, int64_t at, int64_t step, int64_t limit) {
  if (!is_blocked(operand) || step == 0) return limit;
  const int64_t inside = at % kBlock;
  const int64_t room = step > 0 ? (kBlock - inside + step - 1) / step : inside / -step + 1;
  return std::min(limit, room);
}

}  // namespace

BoxPlace from_origin(size_t rank) {
  return {Dims(rank, 0), Dims(rank, 1)};
}

std::vector<int64_t> byte_steps(const Operand& operand) {
  const auto width = static_cast<int64_t>(element_size(operand.element));
  if (is_blocked(operand)) return blocked_steps(operand);
  auto steps = ops::strides_of(operand.memory_dims());
  if (operand.layout == Layout::kChannelsLast && operand.rank() >= 3)
    std::rotate(steps.begin() + 1, steps.end() - 1, steps.end());
  for (int64_t& step : steps) step *= width;
  return steps;
}

bool is_movable(const KernelRequest& request) {
  const auto movable = [](const std::optional<Operand>& operand) {
    return !operand || (operand->element != ElementType::kString && element_size(operand->element) <= 16);
  };
  return std::all_of(request.inputs.begin(), request.inputs.end(), movable) &&
         std::all_of(request.outputs.begin(), request.outputs.end(), movable);
}

CopyKernel::CopyKernel(std::string_view what) {
  name = fmt::format("cpu:{}", what);
}

void CopyKernel::run(const KernelArguments& arguments) const {
  static constexpr Element kZeros{};
  for (const Piece& piece : pieces_) {
    const void* from = piece.input == kValue  ? value_.data()
                       : piece.input == kZero ? kZeros.data()
                                              : arguments.inputs[piece.input];
    piece.copy.run(from, arguments.outputs[piece.output]);
  }
}

void CopyKernel::set_value(const void* value, size_t bytes) {
  std::memcpy(value_.data(), value, bytes);
}

void CopyKernel::add(int input, const Operand& from, const BoxPlace& source, int output, const Operand& to,
                     const BoxPlace& target, const Dims& sizes) {
  if (element_count(sizes) == 0) return;
  const auto from_steps = byte_steps(from), to_steps = byte_steps(to);
  Dims from_at = source.start, to_at = target.start, part = sizes;
  const bool cut = is_blocked(from) || is_blocked(to);
  for (int64_t channel = 0; channel < (cut ? sizes[kChannel] : 1);) {
    if (cut) {
      from_at[kChannel] = source.start[kChannel] + channel * source.step[kChannel];
      to_at[kChannel] = target.start[kChannel] + channel * target.step[kChannel];
      part[kChannel] = channels_in_block(
          to, to_at[kChannel], target.step[kChannel],
          channels_in_block(from, from_at[kChannel], source.step[kChannel], sizes[kChannel] - channel));
    }
    std::vector<CopyAxis> axes;
    for (size_t i = 0; i < sizes.size(); ++i)
      axes.push_back({part[i], source.step[i] * from_steps[i], target.step[i] * to_steps[i]});
    add(input, output,
        StridedCopy(element_size(to.element), std::move(axes), offset_of(from, from_steps, from_at),
                    offset_of(to, to_steps, to_at)));
    channel += cut ? part[kChannel] : 1;
  }
}

void CopyKernel::fill(int input, int output, const Operand& to, const BoxPlace& target, const Dims& sizes) {
  Operand scalar = to;
  scalar.layout = Layout::kPlain;
  add(input, scalar, {Dims(sizes.size(), 0), Dims(sizes.size(), 0)}, output, to, target, sizes);
}

void CopyKernel::allow_in_place() {
  const bool stays = std::all_of(pieces_.begin(), pieces_.end(), [](const Piece& piece) {
    return piece.input == 0 && piece.output == 0 && piece.copy.keeps_places();
  });
  if (stays) in_place = 0;
}

void CopyKernel::clear_tail(int output, const Operand& to) {
  if (!is_blocked(to) || to.dims[kChannel] % kBlock == 0) return;
  Operand whole = to;
  whole.dims[kChannel] = (to.dims[kChannel] + kBlock - 1) / kBlock * kBlock;
  BoxPlace tail = from_origin(to.dims.size());
  tail.start[kChannel] = to.dims[kChannel];
  Dims sizes = to.dims;
  sizes[kChannel] = whole.dims[kChannel] - to.dims[kChannel];
  fill(kZero, output, whole, tail, sizes);
}

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

std::unique_ptr<Kernel> make_reorder(const Operand& from, Layout to) {
  Operand target = from;
  target.layout = to;
  auto kernel =
      std::make_unique<CopyKernel>(fmt::format("reorder:{}-{}", layout_name(from.layout), layout_name(to)));
  const BoxPlace origin = from_origin(from.dims.size());
  kernel->add(0, from, origin, 0, target, origin, from.dims);
  kernel->clear_tail(0, target);
  return kernel;
}

}  // namespace vernier::cpu
