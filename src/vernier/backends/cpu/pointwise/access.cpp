#include "vernier/backends/cpu/pointwise/access.h"

#include <cstring>

#include "vernier/backends/cpu/pointwise/loop.h"
#include "vernier/ops/support/movement/strides.h"

namespace vernier::cpu {

namespace {

constexpr int64_t kLanes = 16;  // of kBlocked16

// From strides per logical axis to strides per axis of memory.
std::vector<int64_t> in_memory_order(const std::vector<int64_t>& strides, Layout layout) {
  if (layout == Layout::kPlain || strides.size() < 3) return strides;
  std::vector<int64_t> result{strides[0]};
  if (layout == Layout::kBlocked16) result.push_back(kLanes * strides[1]);
  result.insert(result.end(), strides.begin() + 2, strides.end());
  result.push_back(strides[1]);
  return result;
}

// A constant of several channels in blocks, so that the walk may read the lanes behind the last channel.
Access blocked_constant(const Operand& operand, Access access, const Dims& aligned, const Operand& out) {
  Dims dims(out.dims.size() - aligned.size(), 1);
  dims.insert(dims.end(), aligned.begin(), aligned.end());
  const Dims blocked = physical_dims(dims, Layout::kBlocked16);
  const size_t bytes = element_size(operand.element);
  auto content =
      std::make_shared<std::vector<std::byte>>(static_cast<size_t>(element_count(blocked)) * bytes);
  const auto* from = static_cast<const std::byte*>(operand.constant->raw());
  const int64_t area = ops::product(dims, 2, dims.size());
  const int64_t blocks = blocked[1];
  for (int64_t at = 0; at < element_count(dims); ++at) {
    const int64_t n = at / (dims[1] * area), channel = at / area % dims[1], place = at % area;
    const int64_t to = ((n * blocks + channel / kLanes) * area + place) * kLanes + channel % kLanes;
    std::memcpy(content->data() + static_cast<size_t>(to) * bytes, from + static_cast<size_t>(at) * bytes,
                bytes);
  }
  access.own = std::move(content);
  access.strides = ops::broadcast_strides(blocked, physical_dims(out.dims, Layout::kBlocked16));
  return access;
}

void fill(const std::byte* element, size_t bytes, int64_t count, std::byte* to) {
  const auto spread = [&]<class T>(T value) {
    std::memcpy(&value, element, sizeof value);
    std::fill_n(reinterpret_cast<T*>(to), count, value);
  };
  switch (bytes) {
    case 1: return spread(uint8_t{});
    case 2: return spread(uint16_t{});
    case 4: return spread(uint32_t{});
    default: return spread(uint64_t{});
  }
}

void copy_strided(const std::byte* from, size_t bytes, int64_t stride, int64_t count, std::byte* to) {
  const auto copy = [&]<class T>(T) {
    const auto* source = reinterpret_cast<const T*>(from);
    auto* target = reinterpret_cast<T*>(to);
    for (int64_t i = 0; i < count; ++i) target[i] = source[i * stride];
  };
  switch (bytes) {
    case 1: return copy(uint8_t{});
    case 2: return copy(uint16_t{});
    case 4: return copy(uint32_t{});
    default: return copy(uint64_t{});
  }
}

void classify(Access& access, const Dims& walk) {
  const auto is_zero = [](int64_t stride) { return stride == 0; };
  const auto& strides = access.strides;
  if (std::all_of(strides.begin(), strides.end(), is_zero)) {
    access.kind = Access::Kind::kUniform;
  } else if (walk.size() == 1 && strides[0] == 1) {
    access.kind = Access::Kind::kDirect;
  } else if (strides == ops::strides_of(walk)) {
    access.kind = Access::Kind::kDirect;
  } else if (strides.back() == 1 && std::all_of(strides.begin(), strides.end() - 1, is_zero) &&
             walk.back() <= kLongestPeriod) {
    access.kind = Access::Kind::kPeriodic;
    access.period = walk.back();
  }
}

}  // namespace

std::optional<Access> make_access(const KernelRequest& request, size_t input, const Dims& aligned,
                                  std::string& reason) {
  const Operand &operand = request.in(input), &out = request.out();
  const Dims memory = out.memory_dims();
  Access access;
  access.input = input;
  access.element = operand.element;
  if (operand.size() == 1 && operand.layout == Layout::kPlain) {
    access.strides.assign(memory.size(), 0);
    return access;
  }
  if (aligned.size() > out.dims.size()) {
    reason = "an operand has more axes than the result";
    return std::nullopt;
  }
  if (operand.layout == Layout::kPlain) {
    const auto strides = ops::broadcast_strides(aligned, out.dims);
    const bool ragged =
        out.layout == Layout::kBlocked16 && out.rank() >= 3 && strides[1] != 0 && out.dims[1] % kLanes != 0;
    if (ragged && operand.constant != nullptr) return blocked_constant(operand, access, aligned, out);
    if (ragged) {
      reason = "a plain operand along channels that do not fill their blocks";
      return std::nullopt;
    }
    access.strides = in_memory_order(strides, out.layout);
    return access;
  }
  if (operand.layout != out.layout || operand.rank() != out.rank() || aligned != operand.dims) {
    reason = "operands of different layouts";
    return std::nullopt;
  }
  access.strides = ops::broadcast_strides(operand.memory_dims(), memory);
  // A block of one channel fills only its first lane.
  if (operand.layout == Layout::kBlocked16 && operand.dims[1] == 1 && out.dims[1] != 1)
    access.strides.back() = 0;
  return access;
}

Dims settle(std::vector<Access>& accesses, const Operand& out) {
  const Dims memory = out.memory_dims();
  Dims walk;
  std::vector<std::vector<int64_t>> strides(accesses.size());
  for (size_t axis = 0; axis < memory.size(); ++axis) {
    if (memory[axis] == 1) continue;
    bool joins = !walk.empty();
    for (size_t i = 0; i < accesses.size(); ++i)
      joins = joins && strides[i].back() == accesses[i].strides[axis] * memory[axis];
    if (joins)
      walk.back() *= memory[axis];
    else
      walk.push_back(memory[axis]);
    for (size_t i = 0; i < accesses.size(); ++i) {
      if (joins) strides[i].pop_back();
      strides[i].push_back(accesses[i].strides[axis]);
    }
  }
  for (size_t i = 0; i < accesses.size(); ++i) {
    accesses[i].strides = std::move(strides[i]);
    classify(accesses[i], walk);
  }
  return walk;
}

const std::byte* gather(const Access& access, const Dims& walk, const std::byte* from, int64_t begin,
                        int64_t count, std::byte* to) {
  const size_t bytes = element_size(access.element);
  const int64_t row = walk.back(), step = access.strides.back();
  int64_t within = begin % row, index = begin / row;
  std::byte* target = to;
  while (count > 0) {
    int64_t offset = within * step, rest = index;
    for (size_t axis = walk.size() - 1; axis-- > 0;) {
      offset += rest % walk[axis] * access.strides[axis];
      rest /= walk[axis];
    }
    const std::byte* source = from + offset * static_cast<int64_t>(bytes);
    const int64_t here = std::min(count, row - within);
    // Whole blocks may be read in place: the loops touch nothing behind them.
    if (step == 1 && target == to && here == count && count % kLoopBlock == 0) return source;
    if (step == 0)
      fill(source, bytes, here, target);
    else if (step == 1)
      std::memcpy(target, source, static_cast<size_t>(here) * bytes);
    else
      copy_strided(source, bytes, step, here, target);
    target += here * static_cast<int64_t>(bytes);
    count -= here;
    within = 0;
    ++index;
  }
  return to;
}

}  // namespace vernier::cpu
