#include "vernier/diagnose/rewrites/rewrites.h"

namespace vernier {

// For each row of the data the last update that is written there, if there is one. Of indices that point to
// one place the last one counts, whatever order an engine writes in.
bool write_scatter(Replacement& node) {
  const Node& own = node.node();
  if (own.op != "ScatterND" || own.find_attribute("reduction") != nullptr) return false;
  const auto data = sizes_of_value(own.input(0)), indices = sizes_of_value(own.input(1));
  constexpr int64_t kMost = 1 << 24;  // elements of the table of rows and updates
  if (!data || !indices || indices->empty()) return false;
  const auto depth = static_cast<size_t>(indices->back());
  if (depth == 0 || depth > data->size()) return false;
  int64_t rows = 1, updates = 1;
  for (size_t i = 0; i < depth; ++i) rows *= (*data)[i];
  for (size_t i = 0; i + 1 < indices->size(); ++i) updates *= (*indices)[i];
  if (rows * updates > kMost || updates == 0 || rows == 0) return false;
  // Each tuple as the number of a row; negative ones count from the back.
  std::vector<int64_t> strides(depth, 1), sizes(data->begin(), data->begin() + static_cast<ptrdiff_t>(depth));
  for (size_t i = depth - 1; i-- > 0;) strides[i] = strides[i + 1] * sizes[i + 1];
  Value* tuples = node.reshape(own.input(1), {updates, static_cast<int64_t>(depth)});
  Value* within = node("Mod", {tuples, node.ints(sizes)});
  Value* places = node.reduce("ReduceSum", node("Mul", {within, node.ints(strides)}), {1}, false);
  Value* meets =
      node("Equal", {node.reshape(node.count(rows), {rows, 1}), node.reshape(places, {1, updates})});
  Value* none = node.ints({-1});
  Value* last = node.reduce("ReduceMax", node("Where", {meets, node.count(updates), none}), {1});
  Value* written = node("Less", {none, last});
  Value* chosen = node.reshape(node("Max", {last, node.ints({0})}), {rows});
  Value* made = node("Gather", {node.reshape(own.input(2), {updates, -1}), chosen}, {{"axis", int64_t{0}}});
  Value* flat = node("Where", {written, made, node.reshape(own.input(0), {rows, -1})});
  node.reshape(flat, *data);
  return true;
}

}  // namespace vernier
