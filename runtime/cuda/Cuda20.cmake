# CMake 3.25 does not know that nvcc 13 has C++20; nvcc does. To be included
# after enable_language(CUDA), in every folder that compiles .cu files.
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
