// A kernel that runs another one, and does something more, or else.
#pragma once

#include "vernier/exec/kernel.h"

namespace vernier {

class KernelDecorator : public Kernel {
 public:
  void prepare() const override { inner_->prepare(); }
  bool is_prepared() const override { return inner_->is_prepared(); }
  void add_payloads(Payloads& to) const override { inner_->add_payloads(to); }
  bool measures() const override { return inner_->measures(); }
  void measure(const KernelArguments& arguments, std::span<Dims> sizes) const override {
    inner_->measure(arguments, sizes);
  }

 protected:
  explicit KernelDecorator(std::unique_ptr<Kernel> inner) : inner_(std::move(inner)) {
    name = inner_->name;
    contract = inner_->contract;
  }

  std::unique_ptr<Kernel> inner_;
};

}  // namespace vernier
