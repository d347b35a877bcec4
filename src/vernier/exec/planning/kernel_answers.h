// What backends answered when the steps of a plan asked for kernels. Layers of a model ask the same, one
// after the other: what the first was given serves all.
#pragma once

#include "vernier/exec/plan.h"

namespace vernier {

// What a node computes of its operands, and by which tactic ("": the backend's own).
uint64_t question_of(const Node& node, std::string_view tactic);

bool computes_like(const Kernel& kernel, const Kernel& other);

class KernelAnswers {
 public:
  using Operands = std::vector<std::optional<Operand>>;

  struct Answer {
    uint64_t question;
    Operands inputs, outputs;                        // as they were when it was asked
    KernelRequest request;                           // in the layouts that the kernel takes and gives
    std::shared_ptr<const Kernel> kernel = nullptr;  // null: there is none
    int device = kHost;
    bool by_tactic = false;  // by the one that was asked for
  };

  // Null unless the same was asked with operands of the same sizes, constants being the same ones, and
  // answered by a kernel that computes like the one that the request names (KernelRequest::like): nothing
  // speaks against that one at this node, neither a precision plan nor the quarantine. Lasts until the next
  // is added.
  const Answer* find(uint64_t question, const KernelRequest& request) const;
  const Answer& add(Answer answer);
  void clear() { answers_.clear(); }

 private:
  std::vector<Answer> answers_;
};

}  // namespace vernier
