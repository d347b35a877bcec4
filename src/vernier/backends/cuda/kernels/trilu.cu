// Trilu: the triangle of the last two axes, [rows, columns] of as many matrices. T is as wide as an element.
extern "C" __global__ void run(const TriangleParameters p) {
  const i64 step = (i64)gridDim.x * blockDim.x, k = p.k == nullptr ? 0 : *(const i64*)p.k;
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < p.count; i += step) {
    const i64 column = i % p.columns, diagonal = i / p.columns % p.rows + (k < -p.rows ? -p.rows : k > p.columns ? p.columns : k);
    const bool kept = p.upper ? column >= diagonal : column <= diagonal;
    T zero = T{};
    ((T*)p.y)[i] = kept ? ((const T*)p.x)[i] : zero;
  }
}
