// Ways in which engines go wrong at a node, each as something that can be computed: a cause is proven when a
// simulation of it reproduces what the engine made. A family of causes is one file of this folder and a row
// in library.cpp.
#pragma once

#include "vernier/diagnose/causes/member.h"
#include "vernier/diagnose/experiments/further_runs.h"
#include "vernier/diagnose/failure_class.h"

namespace vernier {

// Holds what is known beside the flagged node itself.
struct HypothesisContext {
  const Graph& graph;  // that the flagged node is a node of
  // Gives what the engine made elsewhere in the run; null if nobody shows it. Inputs and constants are known.
  std::function<const Tensor*(const Value&)> value;
  // Gives what a sound kernel would have made of what the engine read at the flagged node in the run before,
  // which was on other inputs; by output, undefined where nothing is known of it. Null if there was no such
  // run.
  std::function<Tensors()> sound_before;
  // Gives what the engine read and made at the flagged node in so many further runs, or fewer. Null: it runs
  // no more.
  std::function<std::vector<Observation>(size_t most)> observe = nullptr;
  // Values that make the engine right when they are shown: what is fused over them comes apart.
  std::set<std::string> healing = {};
};

// The penalty of causes of which a number or two are fitted: such explain a little of any error.
inline constexpr double kFittedNumber = 0.05;

// One cause at one member.
struct Proposal {
  FailureClass failure;
  // Completes "What it made is what comes out if ...": "the upper bound of 6 is lost".
  std::string what;
  // Gives what the member makes then, floats unrounded. Throws what the reference throws: then it is no
  // cause.
  std::function<Tensors()> simulate;
  // Where it lies: inputs or outputs of the model, if not at the member.
  std::vector<std::string> values = {};
  // How much less likely than others that explain as much: a cause that can mimic others (a factor that is
  // fitted) says so.
  double penalty = 0;
  // Whether it is about what lies in memory behind the flagged node: then it is one of all nodes of the
  // flagged node.
  bool of_whole = false;
  // Whether it takes seconds, or more runs of the engine: not where another cause explains nearly all.
  bool is_costly = false;
  // Says how much it leaves of some of the elements, where that was looked at. A proposal that leaves little
  // is simulated first, as time may be over before all is.
  double screened = 1;
};

// Which output of the flagged node a result of the member is. Nothing else that a group computes lies in
// memory.
std::optional<size_t> stored_output(const Member& member, size_t result, const FlaggedNode& flagged);
// Gives what the engine made in place of that result, of the sizes that it should have. Null where it is not
// shown, or not whole.
const Tensor* made_in_place(const Member& member, size_t result, const FlaggedNode& flagged);

struct Hypothesis {
  const char* name;  // for the list of experiments: "clip-bounds"
  void (*propose)(const Member& member, const FlaggedNode& flagged, const HypothesisContext& context,
                  std::vector<Proposal>& proposals);
  bool comes_late = false;  // its causes take long: others are tried first at all nodes of a flagged node
  // Whether its causes are about what one operator makes of its operands, whatever is around: then they are
  // tried in the bodies of loops, too.
  bool is_about_operator = false;
};

// All of them. Of several that explain as much the first one is taken.
const std::vector<Hypothesis>& hypotheses();

// The families.
void propose_windows(const Member&, const FlaggedNode&, const HypothesisContext&, std::vector<Proposal>&);
void propose_convolution_groups(const Member&, const FlaggedNode&, const HypothesisContext&,
                                std::vector<Proposal>&);
void propose_pools(const Member&, const FlaggedNode&, const HypothesisContext&, std::vector<Proposal>&);
void propose_resampling(const Member&, const FlaggedNode&, const HypothesisContext&, std::vector<Proposal>&);
void propose_normalization(const Member&, const FlaggedNode&, const HypothesisContext&,
                           std::vector<Proposal>&);
void propose_normalized_groups(const Member&, const FlaggedNode&, const HypothesisContext&,
                               std::vector<Proposal>&);
void propose_opset(const Member&, const FlaggedNode&, const HypothesisContext&, std::vector<Proposal>&);
void propose_axes(const Member&, const FlaggedNode&, const HypothesisContext&, std::vector<Proposal>&);
void propose_constants(const Member&, const FlaggedNode&, const HypothesisContext&, std::vector<Proposal>&);
void propose_added_functions(const Member&, const FlaggedNode&, const HypothesisContext&,
                             std::vector<Proposal>&);
void propose_channel_constants(const Member&, const FlaggedNode&, const HypothesisContext&,
                               std::vector<Proposal>&);
void propose_indices(const Member&, const FlaggedNode&, const HypothesisContext&, std::vector<Proposal>&);
void propose_scatters(const Member&, const FlaggedNode&, const HypothesisContext&, std::vector<Proposal>&);
void propose_other_rows(const Member&, const FlaggedNode&, const HypothesisContext&, std::vector<Proposal>&);
void propose_integers(const Member&, const FlaggedNode&, const HypothesisContext&, std::vector<Proposal>&);
void propose_nans(const Member&, const FlaggedNode&, const HypothesisContext&, std::vector<Proposal>&);
void propose_ties(const Member&, const FlaggedNode&, const HypothesisContext&, std::vector<Proposal>&);
void propose_control_flow(const Member&, const FlaggedNode&, const HypothesisContext&,
                          std::vector<Proposal>&);
void propose_loop_bodies(const Member&, const FlaggedNode&, const HypothesisContext&, std::vector<Proposal>&);
void propose_masks(const Member&, const FlaggedNode&, const HypothesisContext&, std::vector<Proposal>&);
void propose_operand_order(const Member&, const FlaggedNode&, const HypothesisContext&,
                           std::vector<Proposal>&);
void propose_lost_attributes(const Member&, const FlaggedNode&, const HypothesisContext&,
                             std::vector<Proposal>&);
void propose_element_orders(const Member&, const FlaggedNode&, const HypothesisContext&,
                            std::vector<Proposal>&);
void propose_attribute_values(const Member&, const FlaggedNode&, const HypothesisContext&,
                              std::vector<Proposal>&);
void propose_other_operators(const Member&, const FlaggedNode&, const HypothesisContext&,
                             std::vector<Proposal>&);
void propose_lost_tails(const Member&, const FlaggedNode&, const HypothesisContext&, std::vector<Proposal>&);
void propose_attentions(const Member&, const FlaggedNode&, const HypothesisContext&, std::vector<Proposal>&);
void propose_recurrences(const Member&, const FlaggedNode&, const HypothesisContext&, std::vector<Proposal>&);
void propose_clip_bounds(const Member&, const FlaggedNode&, const HypothesisContext&, std::vector<Proposal>&);
void propose_lost_operands(const Member&, const FlaggedNode&, const HypothesisContext&,
                           std::vector<Proposal>&);
void propose_layouts(const Member&, const FlaggedNode&, const HypothesisContext&, std::vector<Proposal>&);
void propose_precisions(const Member&, const FlaggedNode&, const HypothesisContext&, std::vector<Proposal>&);
void propose_coded_operands(const Member&, const FlaggedNode&, const HypothesisContext&,
                            std::vector<Proposal>&);
void propose_accumulators(const Member&, const FlaggedNode&, const HypothesisContext&,
                          std::vector<Proposal>&);
void propose_statistics(const Member&, const FlaggedNode&, const HypothesisContext&, std::vector<Proposal>&);
void propose_casts(const Member&, const FlaggedNode&, const HypothesisContext&, std::vector<Proposal>&);
void propose_narrow_integers(const Member&, const FlaggedNode&, const HypothesisContext&,
                             std::vector<Proposal>&);
void propose_approximations(const Member&, const FlaggedNode&, const HypothesisContext&,
                            std::vector<Proposal>&);
void propose_states(const Member&, const FlaggedNode&, const HypothesisContext&, std::vector<Proposal>&);
void propose_caller(const Member&, const FlaggedNode&, const HypothesisContext&, std::vector<Proposal>&);
void propose_batch_rows(const Member&, const FlaggedNode&, const HypothesisContext&, std::vector<Proposal>&);
void propose_channels(const Member&, const FlaggedNode&, const HypothesisContext&, std::vector<Proposal>&);
void propose_fused_refits(const Member&, const FlaggedNode&, const HypothesisContext&,
                          std::vector<Proposal>&);
void propose_input_channels(const Member&, const FlaggedNode&, const HypothesisContext&,
                            std::vector<Proposal>&);
void propose_parts(const Member&, const FlaggedNode&, const HypothesisContext&, std::vector<Proposal>&);
void propose_other_values(const Member&, const FlaggedNode&, const HypothesisContext&,
                          std::vector<Proposal>&);
void propose_refits(const Member&, const FlaggedNode&, const HypothesisContext&, std::vector<Proposal>&);
void propose_quantized_parameters(const Member&, const FlaggedNode&, const HypothesisContext&,
                                  std::vector<Proposal>&);
void propose_quantized_bias(const Member&, const FlaggedNode&, const HypothesisContext&,
                            std::vector<Proposal>&);
void propose_quantized_rounding(const Member&, const FlaggedNode&, const HypothesisContext&,
                                std::vector<Proposal>&);
void propose_saturating_sums(const Member&, const FlaggedNode&, const HypothesisContext&,
                             std::vector<Proposal>&);

}  // namespace vernier
