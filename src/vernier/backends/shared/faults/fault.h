// Defects that can be put into the kernels of a backend on purpose, to prove that verdicts catch them: what
// goes wrong in real engines. docs/fault-injection.md describes them.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace vernier {

class Node;

enum class Fault : uint8_t {
  kClipBound,        // Clip loses its upper bound
  kChannelScale,     // every channel is scaled by the first one's scale
  kZeroPoint,        // a zero point is off by one
  kStride,           // windows lie one element apart, whatever the stride
  kResidual,         // what an Add takes from a skip connection is zero
  kStaleBuffer,      // the output is that of the run before; zeros at first
  kSwappedAxis,      // the last two axes of the output lie in memory the other way round
  kMissedSync,       // the second half of the output is that of the run before
  kAccumulation,     // sums are cut off, not rounded, after each product
  kFp16Accumulator,  // sums are kept in fp16
  kTf32,             // factors of floats are rounded to TF32
  kCrash,            // the kernel ends the process by SIGSEGV
  kHang,             // the kernel does not return
};

// Whether the fault ends, or stops, the process that runs the kernel. Such a fault is in the kernels of
// trials, too: it is there that it is to be found.
bool stops_process(Fault fault);

struct FaultSpec {
  Fault kind{};
  // The name of an ONNX node; empty: the first that the fault applies to, or all where it stops the process.
  std::string node;
  std::string tactic = {};  // whose kernels have a fault that stops the process; empty: those of all
  bool operator==(const FaultSpec&) const = default;
};

// "clip-bound", …
std::string_view fault_name(Fault fault);
// "residual", "residual:add_1", or "crash@winograd:conv_1". `tactics` are those of the backend. Throws
// usage_error for a fault or a tactic that does not exist.
FaultSpec parse_fault(std::string_view text, const std::set<std::string>& tactics);
// "residual at 'add_1'", "crash of winograd at 'conv_1'"
std::string fault_text(const FaultSpec& spec);

// The nodes that a node computes: those of a group's body, else itself.
std::vector<const Node*> members_of(const Node& node);
// Whether the fault may go into this member.
bool is_meant(const FaultSpec& spec, const Node& member);
// Gives the member's name in the ONNX model.
std::string onnx_name(const FaultSpec& spec, const Node& member);

}  // namespace vernier
