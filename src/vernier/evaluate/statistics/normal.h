// The standard normal distribution.
#pragma once

namespace vernier {

double normal_cdf(double z);
// The z below which `p` of the distribution lies; -Inf for 0 and Inf for 1. Wichura's algorithm AS 241
// (Applied Statistics 37, 1988), exact to about 1e-15.
double normal_quantile(double p);

}  // namespace vernier
