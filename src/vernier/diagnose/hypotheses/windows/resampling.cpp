// B34: resampling by other conventions: where an element of the result lies in the input, which neighbours it
// takes, and with which weights.
#include <numeric>

#include "vernier/diagnose/hypotheses/operators/variations.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/resampling/resize_plan.h"

namespace vernier {

namespace {

constexpr int kClass = 34;
// The opset of Resize that knows every convention.
constexpr int64_t kRichest = 19;
constexpr size_t kScales = 2, kSizes = 3, kOperands = 4;

// Resize and Upsample of any opset, as a Resize of the newest one.
struct Resampling {
  Tensors inputs;
  std::string mode, coordinates;
  std::function<void(Node&)> modernise;
};

Tensor operand(const Member& member, size_t index) {
  return member.has(index) && member.in(index).size() > 0 ? member.in(index) : Tensor();
}

// Upsample's scales, wherever they are.
Tensor scales_of(const Member& member) {
  const Node& node = member.node();
  if (member.is("Resize")) return operand(member, node.version >= 11 ? kScales : 1);
  if (node.version >= 9) return operand(member, 1);
  const auto scales = ops::scale_attributes(node, member.in(0).dims().size());
  return Tensor::from_doubles(ElementType::kDouble, {static_cast<int64_t>(scales.size())}, scales);
}

Resampling resampling_of(const Member& member) {
  const Node& node = member.node();
  const bool modern = member.is("Resize") && node.version >= 11;
  Resampling result;
  result.inputs = {member.in(0), modern ? operand(member, 1) : Tensor(), scales_of(member),
                   modern ? operand(member, kSizes) : Tensor()};
  result.mode = ops::text_attribute(node, "mode");
  result.coordinates = modern ? ops::text_attribute(node, "coordinate_transformation_mode") : "asymmetric";
  result.modernise = [modern, coordinates = result.coordinates](Node& changed) {
    changed.op = "Resize";
    if (!modern) {
      changed.attributes.erase("scales");
      changed.attributes.erase("height_scale");
      changed.attributes.erase("width_scale");
      changed.attributes["coordinate_transformation_mode"] = coordinates;
      changed.attributes["nearest_mode"] = std::string("floor");
    }
    changed.version = std::max(changed.version, kRichest);
    // Scales are floats, as the image is; sizes are only read where there are any.
    Value* image = changed.inputs[0];
    Value* sizes = changed.inputs.size() > kSizes ? changed.inputs[kSizes] : nullptr;
    changed.inputs.assign(kOperands, image);
    if (sizes != nullptr) changed.inputs[kSizes] = sizes;
  };
  return result;
}

class Conventions {
 public:
  Conventions(Variations variations, Resampling known) : variations_(variations), known_(std::move(known)) {}

  void propose() const {
    constexpr const char* kCoordinates[] = {"half_pixel",    "half_pixel_symmetric", "pytorch_half_pixel",
                                            "align_corners", "asymmetric",           "tf_half_pixel_for_nn"};
    for (const char* coordinates : kCoordinates) {
      if (known_.mode == "nearest")
        propose_nearest(coordinates);
      else
        add(fmt::format("positions are read as {}", coordinates),
            {{"coordinate_transformation_mode", std::string(coordinates)}});
    }
    propose_interpolation();
    propose_ratios();
    propose_exchanged_axes();
  }

 private:
  using Changes = std::vector<std::pair<std::string, Attribute>>;

  void add(std::string what, const Changes& changes) const { add(std::move(what), changes, known_.inputs); }
  void add(std::string what, const Changes& changes, const Tensors& inputs) const {
    variations_.add(std::move(what), [&member = variations_.member(), known = known_, changes, inputs] {
      return member.changed(
          [&](Node& node) {
            known.modernise(node);
            for (const auto& [name, value] : changes) node.attributes[name] = value;
          },
          inputs);
    });
  }

  void propose_nearest(const char* coordinates) const {
    for (const char* nearest : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})
      add(fmt::format("positions are read as {}, and rounded as {}", coordinates, nearest),
          {{"coordinate_transformation_mode", std::string(coordinates)},
           {"nearest_mode", std::string(nearest)}});
  }

  void propose_interpolation() const {
    for (const char* mode : {"nearest", "linear", "cubic"}) {
      if (known_.mode != mode) add(fmt::format("it interpolates as {}", mode), {{"mode", std::string(mode)}});
    }
    for (const float coefficient : {-0.5F, -0.75F, -1.0F}) {
      if (known_.mode == "cubic")
        add(fmt::format("the coefficient of the cubic is {}", coefficient), {{"cubic_coeff_a", coefficient}});
    }
    for (const char* flag : {"antialias", "exclude_outside"}) {
      for (const int64_t value : {0, 1}) add(fmt::format("{} is taken for {}", flag, value), {{flag, value}});
    }
  }

  // Proposes the other scales if sizes are not a multiple: given ones, or sizes by sizes.
  void propose_ratios() const {
    const Member& member = variations_.member();
    const Dims &x = member.in(0).dims(), &y = member.out(0).dims();
    std::vector<double> exact, rounded;
    for (size_t i = 0; i < x.size(); ++i) {
      exact.push_back(static_cast<double>(y[i]) / static_cast<double>(x[i]));
      rounded.push_back(std::max(1.0, std::floor(exact.back())));
    }
    const auto with_scales = [&](const std::string& what, const std::vector<double>& scales) {
      Tensors inputs = known_.inputs;
      inputs[kScales] = Tensor::from_doubles(ElementType::kDouble, {member.in(0).rank()}, scales);
      inputs[kSizes] = {};
      for (const char* coordinates : {known_.coordinates.c_str(), "asymmetric"})
        add(what,
            {{"axes", std::vector<int64_t>()}, {"coordinate_transformation_mode", std::string(coordinates)}},
            inputs);
    };
    with_scales("the scales are those of the rounded sizes", exact);
    with_scales("the scales are whole numbers", rounded);
    // With a scale that yields fewer elements than there are, some would have no position.
    std::vector<double> of_input = exact, of_both = exact;
    for (size_t i = 0; i < x.size(); ++i) {
      if (x[i] < 2 || y[i] == x[i]) continue;
      const auto intervals = static_cast<double>(x[i] - 1);
      of_input[i] = static_cast<double>(y[i]) / intervals;
      if (y[i] > x[i]) of_both[i] = static_cast<double>(y[i] - 1) / intervals;
    }
    if (of_input != exact) with_scales("the input is taken for one element shorter in the scales", of_input);
    if (of_both != exact) with_scales("the scales are those between the outermost elements", of_both);
  }

  // Rows for columns, in the image or in what is said of its size.
  void propose_exchanged_axes() const {
    const Member& member = variations_.member();
    const Dims &x = member.in(0).dims(), &y = member.out(0).dims();
    for (size_t a = 0; a < x.size(); ++a) {
      for (size_t b = a + 1; b < x.size(); ++b) {
        if (y[a] == x[a] || y[b] == x[b]) continue;
        const std::string which = fmt::format("axes {} and {} are exchanged in", a, b);
        Tensors inputs = known_.inputs;
        inputs[0] = exchanged(inputs[0], a, b).reshaped(x);
        add(which + " what it reads", {}, inputs);
        variations_.add_result(which + " what it makes", [a, b](const Tensor& right) {
          return exchanged(right, a, b).reshaped(right.dims());
        });
        if (y[a] * x[b] == y[b] * x[a] || member.node().find_attribute("axes") != nullptr) continue;
        for (const size_t operand : {kScales, kSizes}) {
          if (!known_.inputs[operand].is_defined()) continue;
          std::vector<int64_t> places(x.size());
          std::iota(places.begin(), places.end(), 0);
          std::swap(places[a], places[b]);
          inputs = known_.inputs;
          inputs[operand] = taken(inputs[operand], 0, places);
          add(which + " its scales", {}, inputs);
        }
      }
    }
  }

  Variations variations_;
  Resampling known_;
};

void propose_corners(const Variations& variations) {
  for (const int64_t value : {0, 1})
    variations.add_node(fmt::format("align_corners is taken for {}", value),
                        [value](Node& changed) { changed.attributes["align_corners"] = value; });
}

// Sampling at a grid. The names of the modes changed with opset 20.
void propose_grid(const Variations& variations) {
  const Node& node = variations.member().node();
  const bool newer = node.domain.empty() && node.version >= 20;
  propose_corners(variations);
  for (const char* mode : {"nearest", newer ? "linear" : "bilinear", newer ? "cubic" : "bicubic"})
    variations.add_node(fmt::format("it interpolates as {}", mode),
                        [mode](Node& changed) { changed.attributes["mode"] = std::string(mode); });
  for (const char* padding : {"zeros", "border", "reflection"})
    variations.add_node(fmt::format("what is outside is read as {}", padding), [padding](Node& changed) {
      changed.attributes["padding_mode"] = std::string(padding);
    });
  variations.add_operand("the coordinates of the grid are read in the other order", 1,
                         [](const Tensor& grid) { return reversed(grid, grid.dims().size() - 1); });
}

void propose_regions(const Variations& variations) {
  for (const char* mode : {"half_pixel", "output_half_pixel"})
    variations.add_node(fmt::format("regions are read as {}", mode), [mode](Node& changed) {
      changed.version = std::max<int64_t>(changed.version, 16);
      changed.attributes["coordinate_transformation_mode"] = std::string(mode);
    });
  for (const char* mode : {"avg", "max"})
    variations.add_node(fmt::format("samples count as '{}' says", mode),
                        [mode](Node& changed) { changed.attributes["mode"] = std::string(mode); });
  for (const float scale : {1.0F, 0.5F, 0.25F, 0.125F, 0.0625F, 0.03125F})
    variations.add_node(fmt::format("spatial_scale is {}", scale),
                        [scale](Node& changed) { changed.attributes["spatial_scale"] = scale; });
  variations.add_operand("rows and columns of the regions are exchanged", 1, [](const Tensor& regions) {
    return taken(regions, 1, {1, 0, 3, 2});
  });
  for (const int64_t samples : {0, 1, 2})
    variations.add_node(fmt::format("sampling_ratio is {}", samples),
                        [samples](Node& changed) { changed.attributes["sampling_ratio"] = samples; });
}

}  // namespace

void propose_resampling(const Member& member, const FlaggedNode& flagged, const HypothesisContext&,
                        std::vector<Proposal>& proposals) {
  const Variations variations(member, flagged, kClass, proposals);
  if (member.is("Resize") || member.is("Upsample"))
    Conventions(variations, resampling_of(member)).propose();
  else if (member.op() == "GridSample")
    propose_grid(variations);
  else if (member.is("RoiAlign"))
    propose_regions(variations);
  else if (member.is("AffineGrid"))
    propose_corners(variations);
}

}  // namespace vernier
