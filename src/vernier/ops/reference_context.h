// The reference implementation of an operator computes with this context. See docs/rooms/reference.md.
//
// Modes. *Declared*: every float tensor is stored in the type the graph declares. *Ideal*: every float
// tensor, and what a QuantizeLinear makes, is stored as double and nothing is ever rounded. An implementation
// that reads with reals(), computes in double and writes with store() is right in both.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "vernier/ir/graph.h"
#include "vernier/numeric/operand_format.h"
#include "vernier/ops/infer_context.h"

namespace vernier::ops {

enum class ReferenceMode : uint8_t { kIdeal, kDeclared };

// Read-only elements in arithmetic form: borrowed where the tensor already stores T, else converted.
template <class T>
class Elements {
 public:
  Elements() = default;
  explicit Elements(std::vector<T> owned)
      : owned_(std::make_shared<std::vector<T>>(std::move(owned))), view_(*owned_) {}
  Elements(std::span<const T> view, Tensor keep) : keep_(std::move(keep)), view_(view) {}
  const T& operator[](int64_t index) const { return view_[static_cast<size_t>(index)]; }
  int64_t size() const { return static_cast<int64_t>(view_.size()); }
  const T* data() const { return view_.data(); }
  std::span<const T> span() const { return view_; }

 private:
  std::shared_ptr<std::vector<T>> owned_;
  Tensor keep_;
  std::span<const T> view_;
};

// The same elements, each rounded to the format.
Elements<double> rounded(const Elements<double>& elements, const OperandFormat& format);

class ReferenceContext {
 public:
  ReferenceContext(const Node& node, ReferenceMode mode, std::vector<const Datum*> inputs,
                   std::vector<ElementType> declared_inputs, std::vector<ValueInfo> inferred);
  virtual ~ReferenceContext() = default;

  const Node& node() const { return node_; }
  int64_t version() const { return node_.version; }
  ReferenceMode mode() const { return mode_; }
  bool ideal() const { return mode_ == ReferenceMode::kIdeal; }
  // Says what is rounded inside this operator, in any mode: nothing, unless the planned reference says so. An
  // operator of products reads its operands with factors(); one that attends leaves this to attend().
  const InnerRoundings& roundings() const { return roundings_; }
  void set_roundings(const InnerRoundings& roundings) { roundings_ = roundings; }
  template <class T>
  T attribute(std::string_view name, T fallback) const {
    return node_.attribute<T>(name, std::move(fallback));
  }

  size_t input_count() const { return inputs_.size(); }
  size_t output_count() const { return node_.outputs.size(); }
  bool has(size_t input) const { return input < inputs_.size() && inputs_[input] != nullptr; }
  bool wants(size_t output) const {
    return output < node_.outputs.size() && node_.outputs[output] != nullptr;
  }

  const Datum& datum(size_t input) const;  // throws bad_input if missing
  const Tensor& in(size_t input) const;    // as stored; throws bad_input if missing or no tensor
  const Dims& dims(size_t input) const { return in(input).dims(); }
  // The type the graph declares; in ideal mode the tensor may be stored as double instead.
  ElementType declared(size_t input) const { return declared_inputs_.at(input); }

  Elements<double> reals(size_t input) const;  // any type but strings and complex
  Elements<int64_t> ints(size_t input) const;  // integers and bool
  // The same as reals(), of an operand of products: rounded to what they are multiplied in.
  Elements<double> factors(size_t input) const;
  std::vector<int64_t> int_list(size_t input) const;
  double real(size_t input, double fallback) const;  // the one element of an optional input
  int64_t integer(size_t input, int64_t fallback) const;

  // Sizes of an output as inferred from the actual inputs; throws internal_error if inference left them open.
  Dims out_dims(size_t output) const;
  ElementType out_type(size_t output) const;     // declared
  ElementType out_storage(size_t output) const;  // what the output is stored as in this mode
  // An output to be written in place, zero-filled.
  Tensor& allocate(size_t output, Dims dims);
  Tensor& allocate(size_t output) { return allocate(output, out_dims(output)); }
  // Stores with one rounding. The first form takes the inferred sizes.
  void store(size_t output, std::span<const double> values);
  void store(size_t output, Dims dims, std::span<const double> values);
  void store_ints(size_t output, Dims dims, std::span<const int64_t> values);
  // Passes a datum on unchanged (views, sequences, control flow). A tensor of another storage type is an
  // internal error.
  void emit(size_t output, Datum value);

  // Runs a region of this node; its outer values are those of the surrounding run.
  virtual std::vector<Datum> run_region(const Graph& region, std::vector<Datum> inputs);

  std::vector<Datum>& results() { return results_; }

 private:
  const Node& node_;
  ReferenceMode mode_;
  InnerRoundings roundings_;
  std::vector<const Datum*> inputs_;
  std::vector<ElementType> declared_inputs_;
  std::vector<ValueInfo> inferred_;
  std::vector<Datum> results_;
};

}  // namespace vernier::ops
