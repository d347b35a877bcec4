// One computation of an engine at sizes that are known: what a backend makes of a node.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "vernier/numeric/numerics_contract.h"
#include "vernier/tensor/layout.h"
#include "vernier/tensor/tensor_type.h"

namespace vernier {

class Stream;

// Where a kernel reads and writes. Null where an optional input or output is left out.
struct KernelArguments {
  const void* const* inputs;
  void* const* outputs;
  std::byte* scratch;        // 64-byte aligned, at least Kernel::scratch_bytes
  Stream* stream = nullptr;  // of the kernel's device; null where the host sees its memory
};

// Holds what takes long to make and is the same each time, by names that say all that it depends on beside
// the device: machine code, plans of libraries. An engine file keeps it, so that loading compiles and
// searches nothing.
using Payloads = std::map<std::string, std::string>;

// Immutable once made: many sessions run one kernel at the same time.
class Kernel {
 public:
  virtual ~Kernel() = default;
  // Where the host sees the memory of the device, the work is done when this returns. Else it is enqueued on
  // the stream of the arguments: this neither blocks nor reads what the addresses lead to, and what goes
  // wrong is told by Stream::wait_on_host. The kernel outlives its work.
  virtual void run(const KernelArguments& arguments) const = 0;
  // Whether the sizes of its outputs follow from what its inputs hold, as those of NonZero do. Then measure()
  // comes before every run(), with the same inputs and scratch, and may leave there what run() needs.
  virtual bool measures() const { return false; }
  // Sets the sizes of each output that the node has. There are no outputs in the arguments yet (null).
  virtual void measure(const KernelArguments& /*arguments*/, std::span<Dims> /*sizes*/) const {}
  // Whether it reads this input when it runs; not if it has packed what was known when it was made.
  virtual bool reads(size_t /*input*/) const { return true; }
  // Does before the first run what has to be done once: machine code, packed constants. Thread-safe. Throws
  // what run() throws, and can then be called again.
  virtual void prepare() const {}
  virtual bool is_prepared() const { return true; }
  // Adds what it runs by, made now if it was not yet; Backend::take brings it back. Throws what run() throws.
  virtual void add_payloads(Payloads& /*to*/) const {}

  std::string name;           // "onednn:jit_avx512_core", "cpu:softmax"
  NumericsContract contract;  // what it does to the numbers
  size_t scratch_bytes = 0;
  // The input whose memory output 0 may take over, if that input dies here; -1: none.
  int in_place = -1;
};

}  // namespace vernier
