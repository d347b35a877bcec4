#include "free_sizes.h"

#include "vernier/engine/sizes/dimension_names.h"
#include "vernier/ir/clone.h"
#include "vernier/ops/infer_graph.h"

namespace vernier {

namespace {

// A dimension of an input of the graph, and what the data sets have there.
struct Axis {
  size_t input, axis;
  int64_t size;  // in the first data set, which profiles are found around
  int64_t least, most;
  Dim declared;
};

using Sizes = std::vector<int64_t>;                  // of all axes
using Target = std::function<int64_t(size_t axis)>;  // the size that is wanted of it
using Ranks = std::vector<std::optional<size_t>>;    // of all outputs

Ranks ranks_of(const Graph& graph) {
  Ranks ranks;
  for (const Value* output : graph.outputs) {
    const auto& shape = output->type.tensor.shape;
    ranks.push_back(output->type.is_tensor() && shape ? std::optional(shape->size()) : std::nullopt);
  }
  return ranks;
}

// Whether every data set has the input, in the rank that the model gives it.
bool has_sizes(const Value& input, const std::vector<InputShapes>& recorded) {
  if (input.is_constant() || !input.type.is_tensor() || !input.type.tensor.shape) return false;
  return std::all_of(recorded.begin(), recorded.end(), [&](const InputShapes& each) {
    const auto found = each.find(input.name);
    return found != each.end() && found->second.size() == input.type.tensor.shape->size();
  });
}

std::vector<Axis> axes_of(const Graph& graph, const std::vector<InputShapes>& recorded) {
  std::vector<Axis> axes;
  for (size_t input = 0; input < graph.inputs.size() && !recorded.empty(); ++input) {
    const Value& value = *graph.inputs[input];
    if (!has_sizes(value, recorded)) continue;
    for (size_t axis = 0; axis < value.type.tensor.shape->size(); ++axis) {
      const int64_t size = recorded[0].at(value.name)[axis];
      axes.push_back({input, axis, size, size, size, (*value.type.tensor.shape)[axis]});
      for (const InputShapes& other : recorded) {
        axes.back().least = std::min(axes.back().least, other.at(value.name)[axis]);
        axes.back().most = std::max(axes.back().most, other.at(value.name)[axis]);
      }
    }
  }
  return axes;
}

class SizeSearch {
 public:
  SizeSearch(const Model& model, const std::vector<InputShapes>& recorded, int64_t most)
      : model_(model), most_(most), axes_(axes_of(*model.graph, recorded)), ranks_(ranks_of(*model.graph)) {
    for (const Axis& axis : axes_) {
      dims_.push_back(axis.declared);
      sizes_.push_back(axis.size);
    }
  }

  FreedModel run() {
    if (axes_.empty()) return none("no input is a tensor with dimensions");
    if (!free_dimensions()) return none("inference, or the rank of an output, needs every size");
    Sizes least = sizes_, most = sizes_;
    move(least, {[&](size_t i) { return std::min<int64_t>(1, sizes_[i]); },
                 [&](size_t i) { return (sizes_[i] + 1) / 2; },
                 [&](size_t i) { return std::max(sizes_[i] - 1, std::min<int64_t>(1, sizes_[i])); }});
    move(most, {[&](size_t i) { return std::max(2 * sizes_[i], sizes_[i] + 1); },
                [&](size_t i) { return sizes_[i] + 1; }});
    if (least == sizes_ && most == sizes_) return none("weights, attributes or other inputs fix every size");
    fix_what_stays(least, most);
    Sizes others = sizes_;
    move(others,
         {[&](size_t i) { return (sizes_[i] + most[i] + 1) / 2; }, [&](size_t i) { return most[i]; }});
    if (others == sizes_)
      move(others,
           {[&](size_t i) { return (sizes_[i] + least[i]) / 2; }, [&](size_t i) { return least[i]; }});
    return freed(least, most, others);
  }

 private:
  FreedModel none(std::string why) {
    FreedModel found;
    found.why_none = std::move(why);
    return found;
  }

  std::unique_ptr<Graph> with(const std::vector<Dim>& dims) const {
    auto graph = clone(*model_.graph);
    for (size_t i = 0; i < axes_.size(); ++i)
      (*graph->inputs[axes_[i].input]->type.tensor.shape)[axes_[i].axis] = dims[i];
    return graph;
  }

  // Whether inference takes these dimensions and gives outputs of the same ranks, as far as they are known.
  bool is_inferred(const std::vector<Dim>& dims) const {
    const auto graph = with(dims);
    try {
      ops::infer_types(*graph);
    } catch (const Error&) {
      return false;
    }
    const Ranks ranks = ranks_of(*graph);
    return std::equal(ranks.begin(), ranks.end(), ranks_.begin(),
                      [](const auto& rank, const auto& before) { return !before || rank == before; });
  }

  std::vector<ValueType> types_at(const Sizes& sizes) const {
    std::vector<ValueType> types;
    const auto graph = with(to_shape(sizes));
    for (const Value* input : graph->inputs) types.push_back(input->type);
    return types;
  }

  // Names are promises, which these sizes must keep.
  bool is_taken(const Sizes& sizes) const {
    return is_small(sizes) && !contradicts_names(*with(dims_), types_at(sizes)) &&
           is_inferred(to_shape(sizes));
  }

  bool is_small(const Sizes& sizes) const {
    std::map<size_t, std::pair<int64_t, int64_t>> elements;  // of each input, at these sizes and as recorded
    for (size_t i = 0; i < axes_.size(); ++i) {
      auto& [wanted, recorded] = elements.try_emplace(axes_[i].input, 1, 1).first->second;
      wanted *= sizes[i];
      recorded *= sizes_[i];
    }
    return std::all_of(elements.begin(), elements.end(), [&](const auto& entry) {
      return entry.second.first <= std::max(most_, 2 * entry.second.second);
    });
  }

  Dim own_symbol(size_t i) const {
    return Dim::symbol(fmt::format("{}.{}", model_.graph->inputs[axes_[i].input]->name, axes_[i].axis));
  }

  // Makes symbols of dimensions; false where none can be one.
  bool free_dimensions() {
    const auto declared = dims_;
    for (const bool own : {true, false}) {
      for (size_t i = 0; i < dims_.size(); ++i) {
        if (declared[i].is_constant())
          dims_[i] = own ? own_symbol(i) : Dim::symbol(fmt::format("of_size_{}", sizes_[i]));
      }
      if (is_inferred(dims_)) return true;
    }
    dims_ = declared;
    for (size_t i = 0; i < dims_.size(); ++i) {
      if (!declared[i].is_constant()) continue;
      dims_[i] = own_symbol(i);
      if (!is_inferred(dims_)) dims_[i] = declared[i];
    }
    return std::any_of(dims_.begin(), dims_.end(), [](const Dim& dim) { return !dim.is_constant(); });
  }

  // Moves as many axes as the model allows to the first target that it takes them at. Some fit only together
  // with others: all are tried at once, those of one size, those of one place, those of one name.
  void move(Sizes& sizes, const std::vector<Target>& targets) const {
    for (const Target& target : targets) {
      const auto movable = movable_axes(sizes, target);
      std::vector<std::vector<size_t>> sets = {movable};
      add_sets(sets, movable, [&](size_t i) { return std::to_string(sizes_[i]); });
      add_sets(sets, movable, [&](size_t i) { return std::to_string(axes_[i].axis); });
      add_sets(sets, movable, [&](size_t i) { return dims_[i].text(); });
      for (const auto& set : sets) {
        Sizes moved = sizes;
        for (const size_t i : set) {
          if (moved[i] == sizes_[i]) moved[i] = target(i);
        }
        if (moved != sizes && is_taken(moved)) sizes = moved;
        if (&set == &sets[0] && sizes == moved) break;
      }
    }
  }

  // Axes that are free, have not moved, and that the model takes at the target if it knows no other size.
  std::vector<size_t> movable_axes(const Sizes& sizes, const Target& target) const {
    std::vector<size_t> movable;
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (dims_[i].is_constant() || sizes[i] != sizes_[i] || target(i) == sizes[i]) continue;
      auto dims = dims_;
      for (Dim& dim : dims) {
        if (dim == dims_[i]) dim = target(i);
      }
      if (is_inferred(dims)) movable.push_back(i);
    }
    return movable;
  }

  template <class Key>
  static void add_sets(std::vector<std::vector<size_t>>& sets, const std::vector<size_t>& axes,
                       const Key& key) {
    std::map<std::string, std::vector<size_t>> by_key;
    for (const size_t i : axes) by_key[key(i)].push_back(i);
    for (auto& [name, set] : by_key) sets.push_back(std::move(set));
  }

  void fix_what_stays(const Sizes& least, const Sizes& most) {
    auto dims = dims_;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (least[i] == most[i] && axes_[i].least == axes_[i].most) dims[i] = axes_[i].declared;
    }
    if (is_inferred(dims)) dims_ = std::move(dims);
  }

  FreedModel freed(const Sizes& least, const Sizes& most, const Sizes& others) const {
    FreedModel found;
    found.model = clone(model_);
    found.model.graph = with(dims_);
    for (const auto& value : found.model.graph->values()) value->declared.reset();
    ops::infer_types(*found.model.graph);
    for (size_t i = 0; i < axes_.size(); ++i) {
      const Axis& axis = axes_[i];
      const std::string& name = model_.graph->inputs[axis.input]->name;
      const int64_t min = std::min(least[i], axis.least), max = std::max(most[i], axis.most);
      found.freed += axis.declared.is_constant() && !dims_[i].is_constant() ? 1 : 0;
      found.moving += min != max ? 1 : 0;
      found.at_recorded.inputs[name].push_back({min, axis.size, max});
      found.at_others.inputs[name].push_back({min, others[i], max});
    }
    add_neighbours(found, least, most);
    return found;
  }

  void add_neighbours(FreedModel& found, const Sizes& least, const Sizes& most) const {
    std::set<std::string> names;
    for (size_t i = 0; i < dims_.size(); ++i) {
      if (!dims_[i].is_symbol() || !names.insert(dims_[i].text()).second) continue;
      std::vector<InputShapes> shapes;
      for (const Sizes* other : {&least, &most}) {
        Sizes sizes = sizes_;
        for (size_t j = i; j < sizes.size(); ++j) {
          if (dims_[j] == dims_[i]) sizes[j] = (*other)[j];
        }
        if (sizes != sizes_ && is_taken(sizes)) shapes.push_back(shapes_of(sizes));
      }
      if (!shapes.empty()) found.neighbours.push_back(std::move(shapes));
    }
  }

  InputShapes shapes_of(const Sizes& sizes) const {
    InputShapes shapes;
    for (size_t i = 0; i < axes_.size(); ++i)
      shapes[model_.graph->inputs[axes_[i].input]->name].push_back(sizes[i]);
    return shapes;
  }

  const Model& model_;
  int64_t most_;  // elements of an input
  std::vector<Axis> axes_;
  Ranks ranks_;
  std::vector<Dim> dims_;  // as the freed model has them
  Sizes sizes_;            // as recorded
};

}  // namespace

FreedModel free_sizes(const Model& model, const std::vector<InputShapes>& recorded, int64_t most) {
  return SizeSearch(model, recorded, most).run();
}

}  // namespace vernier
