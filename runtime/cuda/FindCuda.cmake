# Finds nvcc, cuBLASLt and cuDNN, in this order: the prefix of tools/setup.sh
# ($LWCC_DEPS/cuda), /usr/local/cuda, nvcc in the PATH; the two libraries also
# among the nvidia wheels of a Python that has PyTorch. Not FindCUDAToolkit: it
# knows neither cuDNN nor wheels.
#
# Sets LWCC_HAVE_CUDA or LWCC_CUDA_MISSING (what is missing), and
# CMAKE_CUDA_COMPILER, LWCC_CUDA_ARCHITECTURES, LWCC_CUDA_INCLUDE_DIRS,
# LWCC_CUDA_LIBRARY_DIRS, LWCC_{CUDNN,CUBLASLT,CUDART}_LIBRARY.

set(LWCC_HAVE_CUDA FALSE)
# A project's own choice holds for the runtime too; by default the last one is
# also there as code for newer GPUs.
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES "80-real;90-real;100")
endif()
set(LWCC_CUDA_ARCHITECTURES "${CMAKE_CUDA_ARCHITECTURES}" CACHE STRING "GPU architectures")

if(NOT LWCC_DEPS)
  set(LWCC_DEPS "$ENV{LWCC_DEPS}")
endif()
if(NOT LWCC_DEPS)
  set(LWCC_DEPS "$ENV{HOME}/.local/share/lwcc")
endif()

if(CMAKE_CUDA_COMPILER)
  set(LWCC_NVCC ${CMAKE_CUDA_COMPILER} CACHE FILEPATH "CUDA compiler")
else()
  find_program(LWCC_NVCC nvcc PATHS ${LWCC_DEPS}/cuda/bin /usr/local/cuda/bin
    NO_DEFAULT_PATH)
  find_program(LWCC_NVCC nvcc)
endif()
if(NOT LWCC_NVCC)
  set(LWCC_CUDA_MISSING "nvcc was not found in $LWCC_DEPS/cuda, /usr/local/cuda or the PATH")
  return()
endif()
set(CMAKE_CUDA_COMPILER ${LWCC_NVCC})
set(CMAKE_CUDA_ARCHITECTURES ${LWCC_CUDA_ARCHITECTURES})
get_filename_component(lwcc_cuda_real ${LWCC_NVCC} REALPATH)
get_filename_component(lwcc_cuda_root ${lwcc_cuda_real}/../.. ABSOLUTE)

# Folders that hold include/ and lib/.
set(lwcc_cuda_roots ${lwcc_cuda_root} ${lwcc_cuda_root}/targets/x86_64-linux)
if(NOT LWCC_CUDNN_LIBRARY)
  # PyTorch's wheels: nvidia/cudnn, nvidia/cu13 (or nvidia/cublas).
  find_program(LWCC_PYTHON NAMES python3 python)
  if(LWCC_PYTHON)
    execute_process(COMMAND ${LWCC_PYTHON} -c "import nvidia; print(';'.join(nvidia.__path__))"
      OUTPUT_VARIABLE lwcc_wheels OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    foreach(folder ${lwcc_wheels})
      list(APPEND lwcc_cuda_roots ${folder}/cudnn ${folder}/cu13 ${folder}/cublas)
    endforeach()
  endif()
endif()

function(lwcc_find_cuda_library variable header)
  find_path(${variable}_INCLUDE ${header} HINTS ${lwcc_cuda_roots} PATH_SUFFIXES include)
  find_library(${variable}_LIBRARY NAMES ${ARGN} HINTS ${lwcc_cuda_roots}
    PATH_SUFFIXES lib64 lib)
endfunction()
# Wheels hold lib*.so.N only.
lwcc_find_cuda_library(LWCC_CUDNN cudnn_backend.h cudnn libcudnn.so.9)
lwcc_find_cuda_library(LWCC_CUBLASLT cublasLt.h cublasLt libcublasLt.so.13)
lwcc_find_cuda_library(LWCC_CUDART cuda_runtime_api.h libcudart_static.a)

set(LWCC_CUDA_INCLUDE_DIRS)
set(LWCC_CUDA_LIBRARY_DIRS)
foreach(part CUDART CUBLASLT CUDNN)
  if(NOT LWCC_${part}_INCLUDE OR NOT LWCC_${part}_LIBRARY)
    set(LWCC_CUDA_MISSING "${LWCC_NVCC} is there, but ${part} was not found beside it or in Python's nvidia wheels")
    return()
  endif()
  get_filename_component(folder ${LWCC_${part}_LIBRARY} DIRECTORY)
  list(APPEND LWCC_CUDA_INCLUDE_DIRS ${LWCC_${part}_INCLUDE})
  list(APPEND LWCC_CUDA_LIBRARY_DIRS ${folder})
endforeach()
list(REMOVE_DUPLICATES LWCC_CUDA_INCLUDE_DIRS)
list(REMOVE_DUPLICATES LWCC_CUDA_LIBRARY_DIRS)
set(LWCC_HAVE_CUDA TRUE)
