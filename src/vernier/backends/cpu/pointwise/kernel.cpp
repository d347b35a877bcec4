#include "vernier/backends/cpu/pointwise/kernel.h"

#include <atomic>
#include <cstring>

#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/pointwise/program.h"
#include "vernier/backends/shared/pointwise/some_sizes.h"
#include "vernier/ops/group.h"

namespace vernier::cpu {

namespace {

constexpr size_t kRegisterBytes = size_t{32} << 10;  // of a thread, on its stack: the first-level cache
constexpr size_t kMaxPlaces = 512, kMaxEnds = 64;    // ends: operands and results that are no registers
constexpr int64_t kLongestTile = 1024;
constexpr size_t kEndBytes = kLoopBlock * sizeof(double);

// The tile whose registers fit.
int64_t tile_of(const PointwiseProgram& program) {
  const size_t bytes = std::max<size_t>(1, program.registers * program.register_bytes);
  return std::min(kLongestTile, static_cast<int64_t>(kRegisterBytes / bytes) / kLoopBlock * kLoopBlock);
}

// Each node computes in the type of its own operands; of a group with several the contract names the widest.
ElementType computed_type(const KernelRequest& request) {
  ElementType widest = ElementType::kUndefined;
  const auto add = [&](ElementType element) {
    const ElementType type = register_type(element);
    if (is_float(type) && (!is_float(widest) || element_size(type) > element_size(widest))) widest = type;
  };
  for (const auto* operands : {&request.outputs, &request.inputs}) {
    for (const auto& operand : *operands) {
      if (operand) add(operand->element);
    }
  }
  if (!ops::is_group(request.node)) return widest;
  for (const auto& node : ops::body(request.node).nodes()) {
    for (const Value* output : node->outputs) add(output->type.tensor.element);
  }
  return widest;
}

class PointwiseKernel : public Kernel {
 public:
  PointwiseKernel(PointwiseProgram program, const KernelRequest& request);
  void run(const KernelArguments& arguments) const override;

 private:
  struct Range {
    const KernelArguments& arguments;
    int64_t begin, end;
  };
  bool run_range(const Range& range) const;
  void point(const KernelArguments& arguments, int64_t begin, std::byte** at) const;
  bool run_tile(const KernelArguments& arguments, int64_t begin, int64_t count, std::byte* registers,
                std::byte** at) const;
  bool run_tail(const KernelArguments& arguments, int64_t begin, int64_t count, std::byte* registers,
                std::byte** at) const;
  const std::byte* base(const KernelArguments& arguments, size_t access) const;
  void clear_padding(const KernelArguments& arguments) const;

  PointwiseProgram program_;
  std::vector<Prepared> prepared_;
  std::string node_;
  int64_t total_, tile_, grain_;
  // Blocks of channels whose last lanes are none: [outer, blocks, inner, 16] of the outputs.
  std::vector<size_t> output_bytes_;
  int64_t channels_ = 0, outer_ = 1, inner_ = 1;
};

PointwiseKernel::PointwiseKernel(PointwiseProgram program, const KernelRequest& request)
    : program_(std::move(program)), node_(request.node.name), tile_(tile_of(program_)) {
  total_ = element_count(program_.walk);
  constexpr double kGrain = 32768;
  grain_ = std::max<int64_t>(8, static_cast<int64_t>(kGrain / std::max(1.0, program_.cost)) / kLoopBlock);
  const int64_t spread = std::min(tile_, (total_ + kLoopBlock - 1) / kLoopBlock * kLoopBlock);
  for (const auto& each : program_.prepared) {
    const Access* access =
        each.access == PointwiseProgram::kNoAccess ? nullptr : &program_.accesses[each.access];
    prepared_.emplace_back(each, access, spread, request, scratch_bytes);
  }
  const Operand& out = request.out();
  for (const auto& output : request.outputs) output_bytes_.push_back(element_size(output->element));
  if (out.layout == Layout::kBlocked16 && out.rank() >= 3 && out.dims[1] % 16 != 0) {
    channels_ = out.dims[1];
    outer_ = out.dims[0];
    for (size_t axis = 2; axis < out.dims.size(); ++axis) inner_ *= out.dims[axis];
  }
  name = "cpu:pointwise";
  const ElementType computed = computed_type(request);
  if (is_float(computed)) contract = {computed, ElementType::kUndefined, out.element};
  contract.approximate = program_.approximate;
  contract.rounds_between = true;
  in_place = program_.in_place;
}

const std::byte* PointwiseKernel::base(const KernelArguments& arguments, size_t access) const {
  const Access& which = program_.accesses[access];
  return which.own ? which.own->data() : static_cast<const std::byte*>(arguments.inputs[which.input]);
}

// Where the elements from `begin` on are, for places that move with the tile.
void PointwiseKernel::point(const KernelArguments& arguments, int64_t begin, std::byte** at) const {
  for (size_t i = 0; i < program_.places.size(); ++i) {
    const Place& place = program_.places[i];
    const auto offset = static_cast<size_t>(begin) * place.bytes;
    if (place.kind == Place::Kind::kInput)
      at[i] = const_cast<std::byte*>(base(arguments, place.index)) + offset;  // only read
    else if (place.kind == Place::Kind::kOutput)
      at[i] = static_cast<std::byte*>(arguments.outputs[place.index]) + offset;
    else if (place.kind == Place::Kind::kPrepared)
      at[i] = const_cast<std::byte*>(prepared_[place.index].at(arguments.scratch, begin));
  }
}

// False if an element has no value.
bool PointwiseKernel::run_tile(const KernelArguments& arguments, int64_t begin, int64_t count,
                               std::byte* registers, std::byte** at) const {
  bool fault = false;
  const size_t register_bytes = static_cast<size_t>(tile_) * program_.register_bytes;
  for (const Instruction& each : program_.instructions) {
    const Place& to = program_.places[each.to];
    if (to.kind == Place::Kind::kRegister) at[each.to] = registers + to.slot * register_bytes;
    if (each.loop == nullptr) {
      const std::byte* rows = gather(program_.accesses[to.index], program_.walk, base(arguments, to.index),
                                     begin, count, registers + to.slot * register_bytes);
      at[each.to] = const_cast<std::byte*>(rows);
      continue;
    }
    each.loop({at[each.to], at[each.from[0]], at[each.from[1]], at[each.from[2]], count, each.alpha,
               each.beta, &fault});
  }
  return !fault;
}

// Fewer elements than loops go by: on copies, whose last elements may be read and written.
bool PointwiseKernel::run_tail(const KernelArguments& arguments, int64_t begin, int64_t count,
                               std::byte* registers, std::byte** at) const {
  alignas(64) std::byte ends[kMaxEnds * kEndBytes];
  point(arguments, begin, at);
  std::byte* end = ends;
  for (size_t i = 0; i < program_.places.size(); ++i) {
    const Place& place = program_.places[i];
    if (place.kind != Place::Kind::kInput && place.kind != Place::Kind::kOutput) continue;
    const size_t bytes = static_cast<size_t>(count) * place.bytes;
    if (place.kind == Place::Kind::kInput) {
      std::memcpy(end, at[i], bytes);
      std::memset(end + bytes, 0, kEndBytes - bytes);
    }
    at[i] = end;
    end += kEndBytes;
  }
  const bool valid = run_tile(arguments, begin, count, registers, at);
  for (size_t i = 0; i < program_.places.size(); ++i) {
    const Place& place = program_.places[i];
    if (place.kind != Place::Kind::kOutput) continue;
    auto* to =
        static_cast<std::byte*>(arguments.outputs[place.index]) + static_cast<size_t>(begin) * place.bytes;
    std::memcpy(to, at[i], static_cast<size_t>(count) * place.bytes);
  }
  return valid;
}

bool PointwiseKernel::run_range(const Range& range) const {
  alignas(64) std::byte registers[kRegisterBytes];
  std::byte* at[kMaxPlaces];
  bool valid = true;
  const int64_t whole = range.end / kLoopBlock * kLoopBlock;
  int64_t begin = range.begin;
  while (begin < whole) {
    const int64_t count = std::min(tile_, whole - begin);
    point(range.arguments, begin, at);
    valid = run_tile(range.arguments, begin, count, registers, at) && valid;
    begin += count;
  }
  if (begin < range.end) valid = run_tail(range.arguments, begin, range.end - begin, registers, at) && valid;
  return valid;
}

// The lanes behind the last channel are zero, whatever the operators make of zero.
void PointwiseKernel::clear_padding(const KernelArguments& arguments) const {
  const int64_t blocks = (channels_ + 15) / 16, used = channels_ % 16;
  for (size_t output = 0; output < output_bytes_.size(); ++output) {
    const size_t bytes = output_bytes_[output];
    for (int64_t n = 0; n < outer_; ++n) {
      auto* block = static_cast<std::byte*>(arguments.outputs[output]) +
                    static_cast<size_t>(((n + 1) * blocks - 1) * inner_ * 16) * bytes;
      for (int64_t i = 0; i < inner_; ++i)
        std::memset(block + static_cast<size_t>(i * 16 + used) * bytes, 0,
                    static_cast<size_t>(16 - used) * bytes);
    }
  }
}

void PointwiseKernel::run(const KernelArguments& arguments) const {
  if (total_ == 0) return;
  for (const Prepared& each : prepared_) each.fill(arguments);
  std::atomic<bool> valid = true;
  parallel((total_ + kLoopBlock - 1) / kLoopBlock, grain_, [&](int64_t begin, int64_t end) {
    const Range range{arguments, begin * kLoopBlock, std::min(total_, end * kLoopBlock)};
    if (!run_range(range)) valid.store(false, std::memory_order_relaxed);
  });
  if (!valid) throw bad_input("an integer is divided by zero").at_node(node_);
  if (channels_ != 0) clear_padding(arguments);
}

}  // namespace

std::unique_ptr<Kernel> make_pointwise(const KernelRequest& request, std::string& reason) {
  for (const auto& output : request.outputs) {
    if (!output || output->dims != request.out().dims || output->layout != request.out().layout) {
      reason = "results of different sizes";
      return nullptr;
    }
  }
  auto program = compile_pointwise(request, reason);
  if (!program) return nullptr;
  const auto ends = std::count_if(program->places.begin(), program->places.end(), [](const Place& place) {
    return place.kind == Place::Kind::kInput || place.kind == Place::Kind::kOutput;
  });
  if (program->places.size() > kMaxPlaces || static_cast<size_t>(ends) > kMaxEnds || tile_of(*program) == 0) {
    reason = "too many values at a time";
    return nullptr;
  }
  return std::make_unique<PointwiseKernel>(std::move(*program), request);
}

bool is_pointwise(const Node& node) {
  const auto request = pointwise::request_of_some_sizes(node);
  std::string reason;
  return request && compile_pointwise(*request, reason).has_value();
}

}  // namespace vernier::cpu
