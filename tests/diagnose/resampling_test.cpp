// Resampling by other conventions than the node's.
#include "diagnose/planted_fault.h"
#include "vernier/diagnose/hypotheses/operators/variations.h"

namespace vernier {
namespace {

std::string resize(const std::string& attributes) {
  return of_floats("%x: f32[1, 2, 5, 7], %scales: f32[4]",
                   "Resize(%x, _, %scales) {" + attributes + "} version 19");
}

std::string upsample(const char* mode) {
  return of_floats("%x: f32[1, 2, 5, 7], %scales: f32[4]",
                   fmt::format("Upsample(%x, %scales) {{mode = \"{}\"}} version 9", mode));
}

std::string grid(const std::string& attributes) {
  return of_floats("%x: f32[1, 2, 5, 7], %grid: f32[1, 4, 6, 2]",
                   "GridSample(%x, %grid) {" + attributes + "} version 20");
}

const NamedData kTwice{{"scales", floats({4}, {1, 1, 2, 2})}};
const NamedData kUneven{{"scales", floats({4}, {1, 1, 1.7, 2.4})}};

const std::vector<PlantedFault> kFaults = {
    {"AlignCorners", "B34", resize(R"(mode = "linear")"),
     runs(resize(R"(mode = "linear", coordinate_transformation_mode = "align_corners")")), kTwice},
    {"Asymmetric", "B34", resize(R"(mode = "cubic")"),
     runs(resize(R"(mode = "cubic", coordinate_transformation_mode = "asymmetric")")), kUneven},
    {"NearestRounding", "B34",
     resize(R"(mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor")"),
     runs(resize(
         R"(mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "round_prefer_ceil")")),
     kUneven},
    {"CubicCoefficient", "B34", resize(R"(mode = "cubic")"),
     runs(resize(R"(mode = "cubic", cubic_coeff_a = float -0.5)")), kTwice},
    {"Antialias",
     "B34",
     resize(R"(mode = "linear", antialias = 1)"),
     runs(resize(R"(mode = "linear")")),
     {{"scales", floats({4}, {1, 1, 0.5, 0.5})}}},
    {"RoundedSizes", "B34", resize(R"(mode = "linear")"),
     [](const Model&, const NamedData& data) {
       NamedData sized{{"x", data.at("x")}, {"sizes", integers({4}, {1, 2, 8, 16})}};
       const Model other =
           parse_planted(of_floats("%x: f32[1, 2, 5, 7], %sizes: i64[4]",
                                   R"(Resize(%x, _, _, %sizes) {mode = "linear"} version 19)"),
                         18);
       return outputs_of(other, sized);
     },
     kUneven},
    {"AxesExchanged", "B34", resize(R"(mode = "linear")"),
     reads("x", [](const Tensor& x) { return exchanged(x, 2, 3).reshaped(x.dims()); }), kUneven},
    {"ScalesExchanged", "B34", resize(R"(mode = "linear")"),
     [](const Model& model, const NamedData& data) {
       NamedData other = data;
       other["scales"] = floats({4}, {1, 1, 2.4, 1.7});
       return Tensors{fitted(outputs_of(model, other).at(0), {1, 2, 8, 16})};
     },
     kUneven},
    {"IntervalsOfTheInput", "B34", resize(R"(mode = "linear")"),
     [](const Model& model, const NamedData& data) {
       NamedData other = data;
       other["scales"] = floats({4}, {1, 1, 8.0 / 4, 16.0 / 6});
       return Tensors{fitted(outputs_of(model, other).at(0), {1, 2, 8, 16})};
     },
     kUneven},
    {"UpsampleHalfPixel", "B34", upsample("linear"), runs(resize(R"(mode = "linear")")), kTwice},
    {"GridCorners", "B34", grid("align_corners = 1"), runs(grid("align_corners = 0"))},
    {"GridBorder", "B34", grid(R"(padding_mode = "zeros")"), runs(grid(R"(padding_mode = "border")"))},
    {"GridOrder", "B34", grid("align_corners = 1"),
     reads("grid", [](const Tensor& each) { return reversed(each, 3); })},
};

VERNIER_PLANTED(ResamplingFaults, kFaults);

}  // namespace
}  // namespace vernier
