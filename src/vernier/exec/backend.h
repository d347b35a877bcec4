// A plan asks a backend for kernels by these types.
#pragma once

#include <optional>

#include "vernier/exec/device/device.h"
#include "vernier/exec/kernel.h"
#include "vernier/exec/packed_constants.h"
#include "vernier/ir/graph.h"

namespace vernier {

struct Operand {
  ElementType element = ElementType::kUndefined;
  Dims dims;
  Layout layout = Layout::kPlain;
  const Tensor* constant = nullptr;  // the content, if it is known when the kernel is made
  // Rows of a cache for which there is memory, each […]. Of an output that is asked for: it may lie behind
  // the past that the node reads as Layout::kCache, in the same memory, as which the backend says so if it
  // wants.
  int64_t capacity = 0;

  int64_t size() const { return element_count(dims); }
  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
  // In the order of memory.
  Dims memory_dims() const { return physical_dims(dims, layout, capacity); }

  bool operator==(const Operand&) const = default;
};

// The tactic of a node whose kernels were all found wrong: its reference semantics.
inline constexpr const char* kReferenceTactic = "reference";

// A node at sizes that are known. An operand is null where the node leaves it out.
struct KernelRequest {
  const Node& node;
  std::vector<std::optional<Operand>> inputs, outputs;
  PackedConstants* packed = nullptr;      // of the engine; null: a kernel packs for itself
  Layout images = Layout::kChannelsLast;  // in which contractions and what lies between them keep images
  std::string_view tactic = {};           // one of Backend::tactics; "": the backend's own choice
  // The sizes of the outputs follow from what the inputs hold: theirs are empty here, and only a kernel that
  // measures them (Kernel::measures) serves.
  bool open_sizes = false;
  const Kernel* like = nullptr;  // what computes the node at other sizes, if that is known

  bool has(size_t input) const { return input < inputs.size() && inputs[input].has_value(); }
  bool wants(size_t output) const { return output < outputs.size() && outputs[output].has_value(); }
  const Operand& in(size_t input) const { return *inputs.at(input); }
  const Operand& out(size_t output = 0) const { return *outputs.at(output); }
  // A constant in a form that is shared with all kernels of the engine that want the same.
  std::shared_ptr<const PackedForm> pack(const Tensor& source, const std::string& form, size_t bytes,
                                         PackedForm::Fill fill) const {
    if (packed != nullptr) return packed->get(source, form, bytes, std::move(fill));
    return std::make_shared<PackedForm>(bytes, std::move(fill));
  }
};

// Kernels for one device.
class Backend {
 public:
  virtual ~Backend() = default;
  // Where its kernels run: the host, unless it says otherwise.
  virtual Device& device() const;
  // Nothing, with `reason` set, if the backend has no kernel for this.
  virtual std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& reason) const = 0;
  // Takes what kernels of such a device were run by (Kernel::add_payloads) in another process: kernels that
  // are made from now on do not make it again.
  virtual void take(const Payloads& /*made*/) const {}
  // The ways to compute this, beside the backend's own choice; e.g. "winograd". Each is made by giving its
  // name to make(), which may still refuse.
  virtual std::vector<std::string> tactics(const KernelRequest& /*request*/) const { return {}; }
  // Sets the layouts in which the backend would take and give the operands; they come as they lie now
  // (inputs) and plain (outputs).
  virtual void choose_layouts(KernelRequest& request) const = 0;
  // Reads all of it into the caches of the threads that run kernels, each a part; for timing.
  virtual void read(std::span<const std::byte> /*memory*/) const {}
  // Copies an operand into another layout; into a cache of its capacity.
  virtual std::unique_ptr<Kernel> reorder(const Operand& from, Layout to) const = 0;
};

class DeviceConstants;

// The backends of an engine outlive whatever is made with this.
struct Backends {
  Backends(const Backend& all) : host(all) {}  // all runs on the host
  Backends(const Backend& rest, std::vector<const Backend*> first, DeviceConstants* shared = nullptr)
      : host(rest), accelerators(std::move(first)), constants(shared) {}

  const Backend& host;                       // takes what no other does
  std::vector<const Backend*> accelerators;  // the preferred first, each for a device of its own
  DeviceConstants* constants = nullptr;      // of the engine; null: each plan has its own
};

}  // namespace vernier
