// A graph of an engine with the plans made for it so far, one for each set of input sizes that came.
#pragma once

#include <functional>
#include <future>
#include <list>
#include <mutex>

#include "vernier/exec/plan.h"

namespace vernier {

class Program {
 public:
  using Bindings = std::span<const MemoryBinding>;
  // Makes a plan for inputs of these types, whose sizes are known, and bindings. It has its graph
  // (Plan::has_graph) if that is asked for.
  using Compile = std::function<std::shared_ptr<const Plan>(
      const Graph& graph, const std::vector<ValueType>& inputs, Bindings bindings, bool with_graph)>;

  Program(std::unique_ptr<Graph> graph, Compile compile, const Backend& kernels);

  const Graph& graph() const { return *graph_; }
  const Backend& kernels() const { return kernels_; }
  // Inputs and bindings that have one plan: kinds, types and sizes.
  using Key = std::vector<int64_t>;
  static Key key(std::span<const Datum> inputs, Bindings bindings = {});
  // Moves the sizes of inputs, and their key, by the difference of two keys. False if these differ in more.
  static bool advance(Key& key, std::vector<ValueType>& inputs, const Key& step);
  // Thread-safe; a plan is made once for all that ask for it at the same time, and others do not wait for it.
  // The plan stays valid as long as the pointer, though the program may forget it: it keeps the kMaxPlans
  // used last. Those that were made of others for new sizes (Plan::has_graph) it does not keep: as soon as
  // nobody has them, they take the next sizes.
  std::shared_ptr<const Plan> plan(std::span<const Datum> inputs, Bindings bindings = {});
  std::shared_ptr<const Plan> plan(const std::vector<ValueType>& inputs, Key key, Bindings bindings);
  // The one that is kept, if there is one.
  std::shared_ptr<const Plan> find(const Key& key);
  // The same with its graph, for those that look at it; what runs later runs by it.
  std::shared_ptr<const Plan> plan_with_graph(std::span<const Datum> inputs);

  // A plan that was made before, for inputs of these types; it replaces the one that is there for them.
  void add(const std::vector<ValueType>& inputs, std::shared_ptr<const Plan> plan);
  void remove(const std::vector<ValueType>& inputs);

  static constexpr size_t kMaxPlans = 32;

 private:
  std::shared_ptr<const Plan> find_locked(const Key& key);

  std::unique_ptr<Graph> graph_;
  Compile compile_;
  const Backend& kernels_;
  std::mutex mutex_;
  std::list<std::pair<Key, std::shared_ptr<const Plan>>> plans_;  // used last comes first
  std::map<Key, std::shared_future<std::shared_ptr<const Plan>>> making_;
};

// Types and sizes of inputs in the order of the graph; of those that are no tensors as the graph says.
std::vector<ValueType> types_of(const Graph& graph, std::span<const Datum> inputs);

// A copy of a region that takes what it reads from around it as further inputs, in the order of
// captured_values(); constants are copied into it.
std::unique_ptr<Graph> close_region(const Graph& region);

}  // namespace vernier
