//===- TestModels.h - Models for the importer's unit tests ------*- C++ -*-===//
//
// For the unit tests of frontend/: models from ONNX text, temporary folders,
// and an importer that records its diagnostics.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_UNIT_FRONTEND_TESTMODELS_H
#define LWCC_TEST_UNIT_FRONTEND_TESTMODELS_H

#include "frontend/Import.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>

namespace lwcc::test {

/// A folder that is removed with the object.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string pattern = testing::TempDir() + "/lwcc-frontend-XXXXXX";
    path = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
  std::string operator/(const std::string &name) const {
    return (path / name).string();
  }

private:
  std::filesystem::path path;
};

inline void writeFile(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

inline onnx::ModelProto parse(const char *text) {
  onnx::ModelProto model;
  auto status = onnx::OnnxParser::Parse(model, text);
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
  return model;
}

/// A weight of one dimension, whose elements are still to be added.
inline onnx::TensorProto *addWeight(onnx::ModelProto &model, const char *name,
                                    onnx::TensorProto::DataType type,
                                    int64_t extent) {
  auto *tensor = model.mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(type);
  tensor->add_dims(extent);
  return tensor;
}

/// Imports models and keeps the messages of diagnostics.
struct Importer {
  mlir::MLIRContext context;
  std::vector<std::string> messages;
  mlir::ScopedDiagnosticHandler handler{&context,
                                        [this](mlir::Diagnostic &diagnostic) {
                                          messages.push_back(diagnostic.str());
                                          return mlir::success();
                                        }};

  mlir::FailureOr<ImportedModel> import(const std::string &path,
                                        int64_t batch = 0) {
    ImportOptions options;
    options.batch = batch;
    return importOnnx(path, options, &context);
  }
  mlir::FailureOr<ImportedModel> import(const onnx::ModelProto &model,
                                        int64_t batch = 0) {
    std::string path = folder / "model.onnx";
    writeFile(path, model.SerializeAsString());
    return import(path, batch);
  }
  std::string said() const {
    std::string all;
    for (const std::string &message : messages)
      all += message + "\n";
    return all;
  }

  TemporaryFolder folder;
};

} // namespace lwcc::test

#endif // LWCC_TEST_UNIT_FRONTEND_TESTMODELS_H
