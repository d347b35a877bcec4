// Puts rows of heads where attention reads them: turned by a rotary embedding, with a bias added, behind the old rows of a cache.
// T is the type of elements. TURNED is 0, 1 where element i is turned with i + half, 2 where neighbours are. POSITIONS tells
// the angle of a row: 0 that of its place in the batch, 1 that behind the old rows, 2 a position of the first row, 3 one of each.
// APPENDS is 1 where y has room for old rows and new ones. COUNTED is 1 where last_keys tell how many are old.
extern "C" __global__ void run(const HeadRowsParameters p) {
  const int part = blockIdx.x % p.parts, head = blockIdx.x / p.parts % p.heads, entry = blockIdx.x / p.parts / p.heads;
  i64 old = p.old_rows;
#if COUNTED
  const i64 count = (i64)((const i32*)p.last_keys)[entry] + 1;
  old = p.rows == p.longest ? 0 : count - p.rows;
  if (count < 1 || count > p.longest || old < 0 || old > p.old_rows || (APPENDS && old + p.rows > p.keys)) {
    *(volatile int*)p.faults = p.fault;
    return;
  }
#endif
  const T* x = (const T*)p.x + entry * p.x_batch + head * p.x_head;
  T* y = (T*)p.y + entry * p.y_batch + head * p.y_head;
  const T* past = (const T*)p.past + entry * p.past_batch + head * p.past_head;
  const i64 behind = APPENDS ? old : 0, begin = p.past == 0 ? behind : 0, end = APPENDS ? p.keys : p.rows;
  for (i64 i = begin * p.size + part * (i64)blockDim.x + threadIdx.x; i < end * p.size; i += p.parts * (i64)blockDim.x) {
    const i64 row = i / p.size, added = row - behind;
    const int column = (int)(i % p.size);
    T& to = y[row * p.y_row + column];
    if (added < 0) {
      to = past[row * p.size + column];
      continue;
    }
    if (added >= p.rows) {
      to = narrow<T>(0.0f);
      continue;
    }
    const T* from = x + added * p.x_row;
#if BIASED
    const T* bias = (const T*)p.bias + head * p.size;
#define ELEMENT(at) (wide(from[at]) + wide(bias[at]))
#else
#define ELEMENT(at) wide(from[at])
#endif
#if TURNED
    if (column < 2 * p.half) {
      const int pair = TURNED == 2 ? column / 2 : column % p.half;
      const int first = TURNED == 2 ? 2 * pair : pair, second = TURNED == 2 ? first + 1 : p.half + pair;
      i64 position = (i64)entry * p.rows + added;
#if POSITIONS == 1
      position = old + added;
#elif POSITIONS == 2
      position = ((const i64*)p.positions)[0] + added;
#elif POSITIONS == 3
      position = ((const i64*)p.positions)[position];
#endif
      if (position < 0) position -= p.angles;  // no counting from the end here
      const i64 angle = resolved(position, p.angles, p.faults, p.fault) * p.half + pair;
      const f32 cosine = wide(((const T*)p.cosines)[angle]), sine = wide(((const T*)p.sines)[angle]);
      to = narrow<T>(column == first ? cosine * ELEMENT(first) - sine * ELEMENT(second) : sine * ELEMENT(first) + cosine * ELEMENT(second));
      continue;
    }
#endif
#if BIASED
    to = narrow<T>(ELEMENT(column));
#else
    to = from[column];
#endif
  }
}
