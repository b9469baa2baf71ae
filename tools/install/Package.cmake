# The Debian package: `cpack -G DEB` in the build folder. What the programs link
# is found by dpkg-shlibdeps; what lwcc calls and what trainers link is below.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME lwcc)
set(CPACK_PACKAGE_VENDOR "lwcc")
set(CPACK_PACKAGE_CONTACT "maintainers <maintainers@users.noreply.a-seed-778d07fc.example>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "ahead-of-time compiler from ONNX to training programs")
set(CPACK_PACKAGE_DESCRIPTION
"lwcc compiles an ONNX model into a standalone program that trains it:
CUDA C++ for NVIDIA GPUs, or C++ with oneDNN for the CPU. There is no
Python and no framework at run time.
.
oneDNN is in the package; for GPUs CUDA 13 with cuDNN 9 is needed, too.")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_SET_DESTDIR OFF)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# libdnnl is ours; dpkg-shlibdeps finds it in the package itself.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${onednn}/lib)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "g++ (>= 4:12), zlib1g-dev, libllvm22 (>= 1:22.1)")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "cmake, make | ninja-build, libucx0")
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)
include(CPack)
