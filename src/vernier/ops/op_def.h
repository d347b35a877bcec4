// An OpDef holds what Vernier knows of an operator, in one place: schema, type inference, reference
// semantics, traits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vernier/ir/graph.h"

namespace vernier::ops {

class InferContext;
class ReferenceContext;

// How an operator behaves when the type of its inputs is narrowed (docs/rooms/precision.md).
enum class PrecisionClass : uint8_t {
  kByTraits,      // follows its inputs if it works element by element or moves elements; else as kUntried
  kAlways,        // safe and worthwhile in a narrow type (contractions)
  kComputedWide,  // follows: kernels compute in float and round once, as no chain of narrow operators does
  kBounded,       // follows: extrema and interpolation make nothing larger than what they read
  kStatesType,    // an attribute, or an operand that it does not compute on, says which type it makes
  kNeverLower,    // statistics, exponentials, integers in floats: keep wide
  kUntried,       // not known to bear narrow types: keep wide
};

// Says what an input is to the operator that reads it.
enum class Role : uint8_t {
  kData,             // the operator computes on it, moves it, compares it or looks at it
  kWeight,           // the other factor of products with the data: it is learned, or may be
  kBias,             // is added to each channel
  kGain,             // each channel is multiplied by it
  kMean,             // running mean of each channel
  kVariance,         // running variance of each channel
  kDivisor,          // results have a pole where it is zero
  kScale,            // step of codes: the n-th of a node belongs to its n-th data
  kZeroPoint,        // zero of codes: the n-th of a node belongs to its n-th data
  kWeightScale,      // step of codes: the n-th of a node belongs to its n-th weight
  kWeightZeroPoint,  // zero of codes: the n-th of a node belongs to its n-th weight
  kResultScale,      // step of the codes that the operator makes
  kResultZeroPoint,  // zero of the codes that the operator makes
  kState,            // handed on from step to step, and multiplied by weights or queries there
  kCell,             // handed on from step to step, and gated and added to there
  kMask,             // says which elements count
  kIndices,          // whole numbers that say where elements lie
  kCoordinates,      // real numbers that say where elements are read
  kAxes,             // names axes
  kLengths,          // says how many steps of each sequence count
  kSizes,            // sizes, counts, or the factors and regions that sizes follow from: never inexact
  kSetting,          // a number, flag or type that could be an attribute
};

enum Trait : uint32_t {
  kPointwise = 1 << 0,     // output element depends on the input elements of the same (broadcast) index
  kReduction = 1 << 1,     // sums or extrema over axes
  kView = 1 << 2,          // output shares the input's elements in the same order
  kDataMovement = 1 << 3,  // output elements are copies of input elements
  kContraction = 1 << 4,   // matrix product or convolution
  kNondeterministic = 1 << 5,
  kControlFlow = 1 << 6,
  kNormalisation = 1 << 7,
  kProducts = 1 << 8,       // sums of products of data and weight, plus a bias, in floats: nothing else
  kConvolution = 1 << 9,    // weights move over the places of images
  kRecurrent = 1 << 10,     // hands a state from step to step through gates: LSTM, GRU, RNN
  kInterpolates = 1 << 11,  // reads between elements, at places that it computes
};

// The first opset of ai.onnx in which an operator takes a type, all else of it being as in float. 0: none
// that runtimes read today.
struct TypesSince {
  static constexpr int kUnstated = -1;
  int bfloat16 = kUnstated, float16 = kUnstated;
};
inline constexpr TypesSince kNoNarrowFloats = {0, 0};

struct AttributeSpec {
  std::string name;
  std::string type;  // ONNX's name: "INT", "FLOATS", …
};

struct OpDef {
  std::string domain = "";  // "" is ai.onnx
  std::string op = "";
  std::vector<Role> operands = {};  // the role of each input
  int optional_inputs = 0;          // so many of them, the last ones, may be left out
  int repeats = 0;                  // so many of them, the last ones, repeat for any number of further inputs
  int min_outputs = 1, max_outputs = 1;        // max -1: variadic
  std::vector<AttributeSpec> attributes = {};  // regions are not listed
  uint32_t traits = 0;
  PrecisionClass precision = PrecisionClass::kByTraits;
  TypesSince since = {};                    // stated by every operator of ai.onnx
  std::optional<int> output_channels = {};  // the axis of the weight that counts them; transB turns it
  // The usual formulas of a function may cancel near zero or in a tail: their error is a part of the
  // operand's size, up to this size, and not of the result's. 0: they do not.
  double cancels_until = 0;
  // Sets type and shape of every output; throws bad_input for inputs the operator cannot take.
  void (*infer)(InferContext&) = nullptr;
  // Computes every output in double or native integers, rounding once, on store.
  void (*reference)(ReferenceContext&) = nullptr;
  // Floating-point operations of one run on inputs and outputs of these sizes; null: one per output element.
  double (*flops)(const Node& node, const std::vector<Dims>& inputs,
                  const std::vector<Dims>& outputs) = nullptr;

  int min_inputs() const { return static_cast<int>(operands.size()) - optional_inputs; }
  int max_inputs() const;  // kVariadic: any number
  Role role(size_t input) const;
};

// All operators; made once, never changed. Operators are found by domain and name; a definition covers every
// version of the operator and reads Node::version where the meaning changed.
class OpRegistry {
 public:
  static const OpRegistry& instance();
  const OpDef* find(std::string_view domain, std::string_view op) const;
  const OpDef* find(const Node& node) const { return find(node.domain, node.op); }
  // Throws unsupported, naming node, operator and domain.
  const OpDef& require(const Node& node) const;
  const std::vector<OpDef>& all() const { return defs_; }
  void add(OpDef def);

 private:
  std::vector<OpDef> defs_;
  std::map<std::pair<std::string, std::string>, size_t, std::less<>> index_;
};

// Infinitely many inputs or outputs.
inline constexpr int kVariadic = -1;

}  // namespace vernier::ops
