// Recurrent operators, whose inputs are multiplied by W already. CELL says which; T is the type in memory, ACC that of sums, and of
// states from step to step.
//
// A block takes ROWS sequences of one direction, and the units of one of its `parts`. LANES lanes share a unit: each multiplies PACK
// factors of every gate at a time, which all sequences of the block meet. LOOPS is 1 where a block takes all units and walks through time,
// with states in shared memory; 0 where a launch makes one step, with states in memory. PHASES says what of a step it computes. LATE
// is linear_before_reset of a GRU, COUPLED input_forget of an LSTM.
#define RNN 0
#define GRU 1
#define LSTM 2
#define BEGIN 1    // initial states
#define RESET 2    // the first gates of a GRU whose reset state is multiplied
#define ADVANCE 4  // everything else
extern __shared__ f32 shared[];
constexpr int kGates = CELL == LSTM ? 4 : CELL == GRU ? 3 : 1;

#define ACTIVATION(name, ...) __device__ inline ACC activation_##name(ACC x, ACC alpha, ACC beta) { return __VA_ARGS__; }
ACTIVATION(affine, alpha * x + beta)
ACTIVATION(elu, op_Elu(x, alpha))
ACTIVATION(hardsigmoid, op_HardSigmoid(x, alpha, beta))
ACTIVATION(leakyrelu, op_LeakyRelu(x, alpha))
ACTIVATION(relu, op_Relu(x))
ACTIVATION(scaledtanh, alpha * op_Tanh(beta * x))
ACTIVATION(sigmoid, op_Sigmoid(x))
ACTIVATION(softplus, op_Softplus(x))
ACTIVATION(softsign, op_Softsign(x))
ACTIVATION(tanh, op_Tanh(x))
ACTIVATION(thresholdedrelu, x >= alpha ? x : (ACC)0)

// The activations of the operator, in its order: ACTIVATION_0 is one of the functions above, of x, alpha and beta.
#define ACTIVATED(k)                                                                                              \
  __device__ inline ACC activated_##k(const RecurrentParameters& p, int direction, ACC given) {                   \
    const ACC alpha = (ACC)p.alpha[direction][k], beta = (ACC)p.beta[direction][k], clip = (ACC)p.clip;            \
    const ACC x = given < -clip ? -clip : given > clip ? clip : given;                                            \
    return ACTIVATION_##k;                                                                                        \
  }
ACTIVATED(0) ACTIVATED(1) ACTIVATED(2)

__device__ inline int length_of(const RecurrentParameters& p, int sequence) {
  if (p.lengths == nullptr || sequence >= p.batch) return p.steps;
  const int length = ((const i32*)p.lengths)[sequence];
  return length < 0 ? 0 : length > p.steps ? p.steps : length;
}
__device__ inline i64 row_of_x(const RecurrentParameters& p, int time, int sequence) {
  return p.batch_first ? (i64)sequence * p.steps + time : (i64)time * p.batch + sequence;
}
// Where a row of hidden units begins, in Y and in initial and final states.
__device__ inline i64 place_in_y(const RecurrentParameters& p, int time, int direction, int sequence) {
  const i64 row = p.batch_first ? row_of_x(p, time, sequence) * p.directions + direction
                                : ((i64)time * p.directions + direction) * p.batch + sequence;
  return row * p.hidden;
}
__device__ inline i64 place_in_states(const RecurrentParameters& p, int direction, int sequence) {
  return (p.batch_first ? (i64)sequence * p.directions + direction : (i64)direction * p.batch + sequence) * p.hidden;
}

__device__ inline ACC bias_of(const RecurrentParameters& p, int direction, int gate, int unit) {
  return p.bias == nullptr ? (ACC)0 : (ACC)wide(((const T*)p.bias)[((i64)direction * 2 * kGates + gate) * p.hidden + unit]);
}
// The input contributes this to a gate, with its bias, and with that of the state unless it is `late`.
__device__ inline ACC contribution(const RecurrentParameters& p, int direction, i64 row, int gate, int unit, bool late) {
  const ACC product = ((const ACC*)p.projected)[((row * p.directions + direction) * kGates + gate) * p.hidden + unit];
  const ACC bias = bias_of(p, direction, gate, unit);
  return product + (late ? bias : bias + bias_of(p, direction, kGates + gate, unit));
}
__device__ inline ACC peephole(const RecurrentParameters& p, int direction, int gate, int unit, ACC cell, ACC sum) {
  if (p.peepholes == nullptr) return sum;
  return joined((ACC)wide(((const T*)p.peepholes)[((i64)direction * 3 + gate) * p.hidden + unit]), cell, sum);
}

// The products of states with rows of R, of the unit's gates from FIRST on, for all lanes that share the unit: that of sequence
// `lane` of the block, where it has one.
template <int FIRST, int COUNT>
__device__ inline void multiply(const RecurrentParameters& p, int direction, int unit, const ACC* states, ACC (&products)[COUNT]) {
  constexpr int kWords = PACK * sizeof(ACC) > 16 ? 16 / sizeof(ACC) : PACK;
  const int lane = threadIdx.x % LANES;
  const T* r = (const T*)p.r + (((i64)direction * kGates + FIRST) * p.hidden + unit) * p.hidden;
  const i64 gate_step = (i64)p.hidden * p.hidden;
  ACC sums[COUNT][ROWS] = {};
  if (unit < p.hidden) {
#pragma unroll (ROWS > 1 ? 1 : 4)
    for (int k = lane * PACK; k < p.hidden; k += LANES * PACK) {
      Pack<T, PACK> factors[COUNT];
#pragma unroll
      for (int gate = 0; gate < COUNT; ++gate) factors[gate] = *(const Pack<T, PACK>*)(r + gate * gate_step + k);
#pragma unroll
      for (int j = 0; j < PACK; j += kWords) {
#pragma unroll
        for (int row = 0; row < ROWS; ++row) {
          const Pack<ACC, kWords> state = *(const Pack<ACC, kWords>*)(states + row * p.hidden + k + j);
#pragma unroll
          for (int i = 0; i < kWords; ++i)
#pragma unroll
            for (int gate = 0; gate < COUNT; ++gate)
              sums[gate][row] = joined((ACC)wide(factors[gate].at[j + i]), state.at[i], sums[gate][row]);
        }
      }
    }
  }
#pragma unroll
  for (int gate = 0; gate < COUNT; ++gate) {
    products[gate] = 0;
#pragma unroll
    for (int row = 0; row < ROWS; ++row) {
      ACC sum = sums[gate][row];
#pragma unroll
      for (int mask = LANES / 2; mask > 0; mask /= 2) sum += neighbour(sum, mask);
      if (lane == row) products[gate] = sum;
    }
  }
}

// The unit of a sequence at one step, which belongs to one lane.
struct Own {
  int direction, sequence, unit, step, length, at;
  bool exists;  // the lane has a sequence, and the unit is one

  __device__ inline bool goes_on() const { return exists && step < length; }
  // Backwards, a short sequence starts at its own end.
  __device__ inline int time(const RecurrentParameters& p) const {
    return goes_on() && p.backward[direction] ? length - 1 - step : step;
  }
};

#if PHASES & RESET
__device__ inline void reset(const RecurrentParameters& p, const Own& own, const ACC* before, ACC* update, ACC* state) {
  ACC given[2] = {}, products[2];
  if (own.goes_on()) {
    const i64 row = row_of_x(p, own.time(p), own.sequence);
    for (int gate = 0; gate < 2; ++gate) given[gate] = contribution(p, own.direction, row, gate, own.unit, false);
  }
  multiply<0, 2>(p, own.direction, own.unit, before, products);
  if (!own.exists) return;
  update[own.at] = activated_0(p, own.direction, given[0] + products[0]);
  state[own.at] = activated_0(p, own.direction, given[1] + products[1]) * before[own.at];
}
#endif

#if PHASES & ADVANCE
// Makes the state after the step; `third` holds the cell of an LSTM, or the reset state of a GRU, whose update gates lie in `after`.
__device__ inline void advance(const RecurrentParameters& p, const Own& own, const ACC* before, ACC* after, ACC* third) {
  constexpr int kFirst = CELL == GRU && !LATE ? 2 : 0, kCount = kGates - kFirst;
  const int direction = own.direction, unit = own.unit, at = own.at;
  ACC given[kCount] = {}, products[kCount];
  if (own.goes_on()) {
    const i64 row = row_of_x(p, own.time(p), own.sequence);
    for (int gate = kFirst; gate < kGates; ++gate)
      given[gate - kFirst] = contribution(p, direction, row, gate, unit, CELL == GRU && gate == 2);
  }
  multiply<kFirst, kCount>(p, direction, unit, kFirst > 0 ? third : before, products);
  if (!own.exists) return;
  ACC state = before[at];
  if (own.goes_on()) {
#if CELL == RNN
    state = activated_0(p, direction, given[0] + products[0]);
#elif CELL == GRU
    ACC linear = products[kCount - 1] + bias_of(p, direction, kGates + 2, unit);
#if LATE
    const ACC update = activated_0(p, direction, given[0] + products[0]);
    linear = activated_0(p, direction, given[1] + products[1]) * linear;
#else
    const ACC update = after[at];
#endif
    const ACC candidate = activated_1(p, direction, given[kCount - 1] + linear);
    state = (1 - update) * candidate + update * state;
#else
    ACC cell = third[at];
    const ACC input = activated_0(p, direction, peephole(p, direction, 0, unit, cell, given[0] + products[0]));
    const ACC forget = COUPLED ? 1 - input : activated_0(p, direction, peephole(p, direction, 2, unit, cell, given[2] + products[2]));
    cell = forget * cell + input * activated_1(p, direction, given[3] + products[3]);
    const ACC output = activated_0(p, direction, peephole(p, direction, 1, unit, cell, given[1] + products[1]));
    state = output * activated_2(p, direction, cell);
    third[at] = cell;
#endif
  }
  after[at] = state;
  const i64 y = place_in_y(p, own.time(p), direction, own.sequence) + unit;
  if (p.y != nullptr) ((T*)p.y)[y] = narrow<T>(own.goes_on() ? state : (ACC)0);
  if (own.step + 1 < p.steps) return;
  const i64 last = place_in_states(p, direction, own.sequence) + unit;
  if (p.y_hidden != nullptr) ((T*)p.y_hidden)[last] = narrow<T>(state);
  if (p.y_cell != nullptr) ((T*)p.y_cell)[last] = narrow<T>(third[at]);
}
#endif

extern "C" __global__ void __launch_bounds__(512) run(const RecurrentParameters p) {
  const int thread = threadIdx.x, lane = thread % LANES, units = blockDim.x / LANES, tiles = (p.batch + ROWS - 1) / ROWS;
  const int part = blockIdx.x % p.parts, tile = blockIdx.x / p.parts % tiles, direction = blockIdx.x / p.parts / tiles;
  const int first = tile * ROWS, size = ROWS * p.hidden, begin = LOOPS ? 0 : p.step, end = LOOPS ? p.steps : p.step + 1;
  ACC* states = LOOPS ? (ACC*)shared : (ACC*)p.states + (i64)(direction * tiles + tile) * 3 * size;
#if PHASES & BEGIN
  for (int i = part * blockDim.x + thread; i < size; i += p.parts * blockDim.x) {
    const int sequence = first + i / p.hidden;
    const i64 at = place_in_states(p, direction, sequence) + i % p.hidden;
    const bool exists = sequence < p.batch;
    states[i] = exists && p.initial_hidden != nullptr ? (ACC)wide(((const T*)p.initial_hidden)[at]) : (ACC)0;
    states[size + i] = 0;
    states[2 * size + i] = exists && p.initial_cell != nullptr ? (ACC)wide(((const T*)p.initial_cell)[at]) : (ACC)0;
  }
  if (p.lengths != nullptr && thread < ROWS && first + thread < p.batch) {
    const int length = ((const i32*)p.lengths)[first + thread];
    if (length < 0 || length > p.steps) *(volatile int*)p.faults = p.fault;
  }
  __syncthreads();
#endif
#if PHASES & (RESET | ADVANCE)
  const int length = length_of(p, first + lane);
  for (int step = begin; step < end; ++step) {
    ACC* before = states + step % 2 * size;
    ACC* after = states + (step + 1) % 2 * size;
    ACC* third = states + 2 * size;
    const auto own = [&](int unit) {
      const bool exists = lane < ROWS && first + lane < p.batch && unit < p.hidden;
      return Own{direction, first + lane, unit, step, length, lane * p.hidden + unit, exists};
    };
#if PHASES & RESET
    for (int at = part * units; at < p.hidden; at += p.parts * units) reset(p, own(at + thread / LANES), before, after, third);
    __syncthreads();
#endif
#if PHASES & ADVANCE
    for (int at = part * units; at < p.hidden; at += p.parts * units) advance(p, own(at + thread / LANES), before, after, third);
    __syncthreads();
#endif
  }
#endif
}
