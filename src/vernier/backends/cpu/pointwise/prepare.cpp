#include <cstring>

#include "vernier/backends/cpu/pointwise/program.h"
#include "vernier/backends/cpu/vectors/float_loops.h"

namespace vernier::cpu {

Prepared::Prepared(const PointwiseProgram::Prepared& what, const Access* access, int64_t spread,
                   const KernelRequest& request, size_t& scratch_bytes)
    : element_(what.type), type_(what.type), count_(spread) {
  if (access != nullptr) {
    element_ = access->element;
    input_ = access->input;
    if (access->kind == Access::Kind::kPeriodic) {
      period_ = access->period;
      count_ += period_;
    }
  }
  const size_t bytes = static_cast<size_t>(count_) * element_size(type_);
  const Tensor* constant = access == nullptr ? nullptr : request.in(access->input).constant;
  Tensor value;
  if (access == nullptr) {
    value = Tensor::from_doubles(type_, {}, {&what.immediate, 1});
    constant = &value;
  }
  if (constant != nullptr) {
    known_.resize(bytes);
    const bool own = access != nullptr && access->own;
    this->spread(own ? access->own->data() : static_cast<const std::byte*>(constant->raw()), known_.data());
  } else {
    offset_ = scratch_bytes;
    scratch_bytes += (bytes + 63) / 64 * 64;
  }
}

void Prepared::fill(const KernelArguments& arguments) const {
  if (known_.empty())
    spread(static_cast<const std::byte*>(arguments.inputs[input_]), arguments.scratch + offset_);
}

void Prepared::spread(const std::byte* from, std::byte* to) const {
  const size_t bytes = element_size(type_);
  const auto upcast = [&](const auto& convert) {
    convert(reinterpret_cast<const uint16_t*>(from), period_, reinterpret_cast<float*>(to));
  };
  if (element_ == type_)
    std::memcpy(to, from, static_cast<size_t>(period_) * bytes);
  else
    upcast(element_ == ElementType::kFloat16 ? upcast_f16 : upcast_bf16);
  // Doubling what is there.
  for (int64_t done = period_; done < count_;) {
    const int64_t more = std::min(done, count_ - done);
    std::memcpy(to + static_cast<size_t>(done) * bytes, to, static_cast<size_t>(more) * bytes);
    done += more;
  }
}

}  // namespace vernier::cpu
