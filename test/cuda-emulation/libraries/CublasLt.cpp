//===- CublasLt.cpp - cuBLASLt's handles and descriptors ------------------===//
//
// Creates, sets, reads and destroys them, with the statuses of cublasLt.h's
// comments. An attribute that exists but that no product of ours needs is
// CUBLAS_STATUS_NOT_SUPPORTED, so that its use is not overlooked.
//
//===----------------------------------------------------------------------===//

#include "test/cuda-emulation/libraries/CublasLt.h"

#include <cstring>
#include <mutex>
#include <set>

using namespace lwcc::emulation;
using namespace lwcc::emulation::blas;

namespace {

/// Where an attribute is stored; {null, 0}: not emulated.
struct Field {
  void *data = nullptr;
  size_t bytes = 0;
};

/// Everything that was created and not destroyed.
class Alive {
public:
  void add(const void *object) {
    std::lock_guard guard(lock);
    objects.insert(object);
  }
  bool remove(const void *object) {
    std::lock_guard guard(lock);
    return objects.erase(object) != 0;
  }
  bool has(const void *object) {
    std::lock_guard guard(lock);
    return objects.count(object) != 0;
  }

private:
  std::mutex lock;
  std::set<const void *> objects;
};

} // namespace

static Alive &alive() {
  static Alive objects;
  return objects;
}

template <typename T>
static Field fieldOf(T &value) {
  return {&value, sizeof(value)};
}

static Field fieldOf(MatrixLayout &layout,
                     cublasLtMatrixLayoutAttribute_t name) {
  switch (name) {
  case CUBLASLT_MATRIX_LAYOUT_TYPE:
    return fieldOf(layout.type);
  case CUBLASLT_MATRIX_LAYOUT_ORDER:
    return fieldOf(layout.order);
  case CUBLASLT_MATRIX_LAYOUT_ROWS:
    return fieldOf(layout.rows);
  case CUBLASLT_MATRIX_LAYOUT_COLS:
    return fieldOf(layout.columns);
  case CUBLASLT_MATRIX_LAYOUT_LD:
    return fieldOf(layout.ld);
  case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
    return fieldOf(layout.batches);
  case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
    return fieldOf(layout.batchStride);
  case CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET:
    return fieldOf(layout.planeOffset);
  case CUBLASLT_MATRIX_LAYOUT_BATCH_MODE:
    return fieldOf(layout.batchMode);
  }
  return {};
}

static Field fieldOf(MatmulDesc &desc, cublasLtMatmulDescAttributes_t name) {
  switch (name) {
  case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE:
    return fieldOf(desc.computeType);
  case CUBLASLT_MATMUL_DESC_SCALE_TYPE:
    return fieldOf(desc.scaleType);
  case CUBLASLT_MATMUL_DESC_POINTER_MODE:
    return fieldOf(desc.pointerMode);
  case CUBLASLT_MATMUL_DESC_TRANSA:
    return fieldOf(desc.transA);
  case CUBLASLT_MATMUL_DESC_TRANSB:
    return fieldOf(desc.transB);
  case CUBLASLT_MATMUL_DESC_TRANSC:
    return fieldOf(desc.transC);
  case CUBLASLT_MATMUL_DESC_FILL_MODE:
    return fieldOf(desc.fillMode);
  case CUBLASLT_MATMUL_DESC_EPILOGUE:
    return fieldOf(desc.epilogue);
  case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
    return fieldOf(desc.bias);
  case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
    return fieldOf(desc.biasType);
  case CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE:
    return fieldOf(desc.biasBatchStride);
  case CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET:
    return fieldOf(desc.processors);
  default:
    return {};
  }
}

static Field fieldOf(MatmulPreference &preference,
                     cublasLtMatmulPreferenceAttributes_t name) {
  switch (name) {
  case CUBLASLT_MATMUL_PREF_SEARCH_MODE:
    return fieldOf(preference.searchMode);
  case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
    return fieldOf(preference.maxWorkspace);
  case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
    return fieldOf(preference.reductionSchemes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
    return fieldOf(preference.alignment[0]);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
    return fieldOf(preference.alignment[1]);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
    return fieldOf(preference.alignment[2]);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
    return fieldOf(preference.alignment[3]);
  case CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT:
    return fieldOf(preference.maxWaves);
  case CUBLASLT_MATMUL_PREF_IMPL_MASK:
    return fieldOf(preference.implementations);
  }
  return {};
}

template <typename T, typename Opaque, typename Name>
static cublasStatus_t setAttribute(Opaque *descriptor, Name name,
                                   const void *from, size_t bytes) {
  if (!alive().has(descriptor) || !from)
    return CUBLAS_STATUS_INVALID_VALUE;
  Field field = fieldOf(*reinterpret_cast<T *>(descriptor), name);
  if (!field.data)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (bytes != field.bytes)
    return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(field.data, from, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

template <typename T, typename Opaque, typename Name>
static cublasStatus_t getAttribute(Opaque *descriptor, Name name, void *to,
                                   size_t bytes, size_t *written) {
  if (!alive().has(descriptor))
    return CUBLAS_STATUS_INVALID_VALUE;
  Field field = fieldOf(*reinterpret_cast<T *>(descriptor), name);
  if (!field.data)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (bytes == 0 ? !written : !to || bytes != field.bytes)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (written)
    *written = field.bytes;
  if (bytes)
    std::memcpy(to, field.data, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

template <typename T, typename Opaque>
static cublasStatus_t create(Opaque **descriptor, T value) {
  if (!descriptor)
    return CUBLAS_STATUS_INVALID_VALUE;
  *descriptor = reinterpret_cast<Opaque *>(new T(value));
  alive().add(*descriptor);
  return CUBLAS_STATUS_SUCCESS;
}

template <typename T, typename Opaque>
static cublasStatus_t destroy(Opaque *descriptor) {
  if (!alive().remove(descriptor))
    return CUBLAS_STATUS_INVALID_VALUE;
  delete reinterpret_cast<T *>(descriptor);
  return CUBLAS_STATUS_SUCCESS;
}

//===----------------------------------------------------------------------===//
// The library's functions
//===----------------------------------------------------------------------===//

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  cublasLtContext context;
  if (cudaGetDevice(&context.device) != cudaSuccess)
    return CUBLAS_STATUS_NOT_INITIALIZED;
  return create<cublasLtContext>(handle, context);
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  return destroy<cublasLtContext>(handle) == CUBLAS_STATUS_SUCCESS
             ? CUBLAS_STATUS_SUCCESS
             : CUBLAS_STATUS_NOT_INITIALIZED;
}

const char *cublasLtGetStatusString(cublasStatus_t status) {
  switch (status) {
  case CUBLAS_STATUS_SUCCESS:
    return "success";
  case CUBLAS_STATUS_NOT_INITIALIZED:
    return "the library was not initialized";
  case CUBLAS_STATUS_INVALID_VALUE:
    return "an unsupported value or parameter was passed to the function";
  case CUBLAS_STATUS_EXECUTION_FAILED:
    return "the function failed to launch on the GPU";
  case CUBLAS_STATUS_NOT_SUPPORTED:
    return "the requested functionality is not supported";
  default:
    return "unrecognized status";
  }
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout,
                                          cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t ld) {
  MatrixLayout value;
  value.type = static_cast<uint32_t>(type);
  value.rows = rows;
  value.columns = columns;
  value.ld = ld;
  return create(layout, value);
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return destroy<MatrixLayout>(layout);
}
cublasStatus_t
cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                 cublasLtMatrixLayoutAttribute_t name,
                                 const void *from, size_t bytes) {
  return setAttribute<MatrixLayout>(layout, name, from, bytes);
}
cublasStatus_t
cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t layout,
                                 cublasLtMatrixLayoutAttribute_t name, void *to,
                                 size_t bytes, size_t *written) {
  return getAttribute<MatrixLayout>(layout, name, to, bytes, written);
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *desc,
                                        cublasComputeType_t computeType,
                                        cudaDataType_t scaleType) {
  MatmulDesc value;
  value.computeType = computeType;
  value.scaleType = scaleType;
  return create(desc, value);
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  return destroy<MatmulDesc>(desc);
}
cublasStatus_t
cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                               cublasLtMatmulDescAttributes_t name,
                               const void *from, size_t bytes) {
  return setAttribute<MatmulDesc>(desc, name, from, bytes);
}
cublasStatus_t
cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t desc,
                               cublasLtMatmulDescAttributes_t name, void *to,
                               size_t bytes, size_t *written) {
  return getAttribute<MatmulDesc>(desc, name, to, bytes, written);
}

cublasStatus_t
cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference) {
  return create(preference, MatmulPreference());
}
cublasStatus_t
cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return destroy<MatmulPreference>(preference);
}
cublasStatus_t
cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                     cublasLtMatmulPreferenceAttributes_t name,
                                     const void *from, size_t bytes) {
  return setAttribute<MatmulPreference>(preference, name, from, bytes);
}
cublasStatus_t
cublasLtMatmulPreferenceGetAttribute(cublasLtMatmulPreference_t preference,
                                     cublasLtMatmulPreferenceAttributes_t name,
                                     void *to, size_t bytes, size_t *written) {
  return getAttribute<MatmulPreference>(preference, name, to, bytes, written);
}
