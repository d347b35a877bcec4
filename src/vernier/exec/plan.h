// An engine runs a plan for one set of input sizes: an immutable list of steps over slots.
#pragma once

#include <functional>
#include <map>

#include "vernier/exec/kernel_cache.h"
#include "vernier/exec/run_options.h"

namespace vernier {

class DeviceConstant;
class Program;

using SlotId = int32_t;
inline constexpr SlotId kNoSlot = -1;

inline constexpr int kHost = 0;            // of Plan::devices
inline constexpr int kCallersThread = -1;  // instead of a stream

// A value in one layout, in the memory of one device.
struct Slot {
  enum class Home : uint8_t {
    kConstant,
    kInput,   // given by the caller
    kOutput,  // memory made for the caller, at each run; on other devices than the host it gives that
    kArena,   // of its device
    kMade,    // a datum that its step makes: of sizes that only running tells, or by an operator without a
              // kernel
  };
  const Value* value = nullptr;
  Operand operand;    // sizes are empty where only running tells them
  bool known = true;  // whether the sizes are
  Home home = Home::kArena;
  int device = kHost;
  SlotId storage = kNoSlot;  // the slot whose memory this one shares, at last itself
  size_t within = 0;         // where it starts in that memory, in bytes
  size_t offset = 0;         // in the arena, of a slot that owns memory
  Tensor constant;
  std::shared_ptr<const DeviceConstant> on_device;  // the constant there, of a slot of an accelerator

  size_t bytes() const;
};

struct Step {
  const Node* node = nullptr;  // null: a change of layout, or a copy
  std::shared_ptr<const Kernel>
      kernel;                 // null: a copy, or the node's reference semantics, see DynamicShapeExecutor
  bool copies = false;        // from the memory of one device into that of another, or of the same
  std::string reason;         // why there is no kernel
  std::string refusal;        // why preferred devices have none; "" if the first has, or none was asked
  bool by_reference = false;  // none is to be made when it runs either: all are in quarantine
  std::vector<SlotId> inputs, outputs;
  // Where the node's inputs lay before the step brought them where its kernel takes them; none of a constant
  // that no step had read.
  std::vector<SlotId> found;
  // Holds what each region of the node reads from around it.
  std::map<const Graph*, std::vector<SlotId>> captured;
  std::vector<SlotId> dead;  // made slots that nobody reads after this step
  size_t scratch = 0;        // where the kernel's working memory lies in the arena
  // Steps begin in the order of the plan, each in the order of its stream, and those of the caller's thread
  // have ended when the next begins. Steps on other streams must be waited for.
  int device = kHost;           // whose kernel, or whose stream's copy, this is
  int stream = kCallersThread;  // of Plan::streams
  std::vector<size_t> waits;    // steps on other streams that have ended before this one begins
  bool is_awaited = false;      // by another step, or by the end of the run

  // Whether nothing is left to be found out when it runs.
  bool is_settled() const { return kernel != nullptr || copies; }
};

// Holds the choices that the graph leaves open. The same choices give the same plan.
struct PlanChoices {
  Layout images = Layout::kChannelsLast;  // see KernelRequest
  std::map<std::string, std::string>
      tactics;  // by the name of a node's first output; others: the backend's own
  // Groups whose nodes run one by one, by the name of their first output. The last node of a group makes a
  // value of the same name, and may be a group again: so many of them are taken apart, the outermost first.
  std::map<std::string, int> ungrouped = {};
  std::vector<MemoryBinding> bindings = {};

  bool operator==(const PlanChoices&) const = default;
};

// A slot that no step makes: its value is all, or a part, of what lies in another.
struct SlotView {
  SlotId slot, base;
  const Node* node;
  size_t output;  // of the node
};

// A group that no kernel computed as one when it was asked for, and where its inputs lay then (Step::found).
struct SeparatedGroup {
  const Node* node;
  std::vector<SlotId> found;
};

struct Plan {
  // The nodes and values of steps and slots. In a plan that was resized (ResizablePlan) only those that kept
  // their sizes; the others are in `resized`, and of theirs here the names and provenance hold.
  std::shared_ptr<const Graph> graph;
  std::shared_ptr<const Graph> resized;
  std::vector<Slot> slots;
  std::vector<Step> steps;
  std::vector<SlotId> inputs, outputs;  // in the order of the graph
  // Values that are alive at the same time, and the working memory of kernels. The most is needed at
  // peak_step; what lies between, because places are fixed, adds to that.
  size_t arena_bytes = 0, peak_bytes = 0, peak_step = 0;
  std::vector<Device*> devices;      // the host first
  std::vector<size_t> device_bytes;  // of the arena of each; nothing of the host
  std::vector<int> streams;          // the device of each
  std::vector<size_t> end_waits;     // steps that have ended before the run has
  PlanChoices choices;
  std::map<const Graph*, std::shared_ptr<Program>> regions;
  // A ResizablePlan begins with these: the slots before they were given memory, which of them are views, and
  // groups that other sizes may make one step of.
  std::vector<Slot> unplaced;
  std::vector<SlotView> views;
  std::vector<SeparatedGroup> separated;
  uint64_t id;  // no two plans of a process have the same, nor one that was resized and what it was before

  // Whether `graph` is that of the sizes that the plan is for.
  bool has_graph() const { return resized == nullptr; }

  // Where the caller's memory for an input or output of the graph lies.
  int device_of_input(size_t index) const;
  int device_of_output(size_t index) const;
  // The cache that a value of the graph is the output of; null for others.
  const MemoryBinding* cache_of(const Value& output) const;

  // Whether the slot is all of the memory that it lies in.
  bool fills_storage(SlotId id) const;

  void renew();  // gives it another id

  Plan();
  ~Plan();
  Plan(Plan&&) noexcept;
};

// Makes the program of a region, which is closed (close_region) already.
using CompileRegion = std::function<std::shared_ptr<Program>(std::unique_ptr<Graph> region)>;

// Chooses a tactic of the backend for a request in the layouts it will have, where the choices name none.
using ChooseTactic = std::function<std::string(const KernelRequest& request, const Backend& backend)>;

// Makes the plan of a graph whose types have been inferred at the sizes to run.
// A node runs on the first accelerator that has a kernel for it, else on the host; control flow, and what has
// sizes that only running tells, runs there, too.
// `cache`, if given, has kernels of the host for copies of this graph at other sizes.
Plan make_plan(std::shared_ptr<const Graph> graph, const Backends& backends,
               const CompileRegion& compile_region, PackedConstants& packed, const PlanChoices& choices = {},
               const ChooseTactic& choose = nullptr, KernelCache* cache = nullptr);

}  // namespace vernier
