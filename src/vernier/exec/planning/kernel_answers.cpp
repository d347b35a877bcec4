#include "vernier/exec/planning/kernel_answers.h"

#include <algorithm>

#include "vernier/base/hash.h"
#include "vernier/ops/group.h"

namespace vernier {

uint64_t question_of(const Node& node, std::string_view tactic) {
  return hash_text(tactic, ops::structure_of(node));
}

bool computes_like(const Kernel& kernel, const Kernel& other) {
  return kernel.name == other.name && kernel.contract == other.contract;
}

const KernelAnswers::Answer* KernelAnswers::find(uint64_t question, const KernelRequest& request) const {
  const auto found = std::find_if(answers_.begin(), answers_.end(), [&](const Answer& answer) {
    return answer.question == question && answer.inputs == request.inputs &&
           answer.outputs == request.outputs && answer.kernel && request.like != nullptr &&
           computes_like(*answer.kernel, *request.like);
  });
  return found == answers_.end() ? nullptr : &*found;
}

const KernelAnswers::Answer& KernelAnswers::add(Answer answer) {
  return answers_.emplace_back(std::move(answer));
}

}  // namespace vernier
