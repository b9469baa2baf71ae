//===- Unsupported.cpp - Operators that lwcc does not import --------------===//

#include "frontend/Unsupported.h"
#include "frontend/ClassicModels.h"
#include "frontend/OnnxOpTable.h"

#include "llvm/ADT/STLExtras.h"

using namespace lwcc;
using llvm::StringRef;

namespace {
/// Ends the sentence "... is not supported; ".
struct Alternative {
  std::vector<StringRef> operators;
  StringRef text;
};
} // namespace

static StringRef alternativeTo(StringRef domain, StringRef name) {
  static const Alternative table[] = {
      {{"RotaryEmbedding"},
       "export with opset_version=20, which writes it in simpler operators"},
      {{"LpPool", "GlobalLpPool"}, "AveragePool and MaxPool are"},
      {{"Scan"}, "export with fixed sizes, which leaves no control flow"},
      {{"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear",
        "QLinearConv", "QLinearMatMul", "ConvInteger", "MatMulInteger"},
       "export the model before it is quantized"},
      {{"NonMaxSuppression", "Hardmax", "NonZero", "Unique", "RoiAlign",
        "StringNormalizer", "TfIdfVectorizer"},
       "leave what is done with the results out of the exported model"},
  };
  if (domain == classicDomain && name == "LinearClassifier")
    return "with options={id(model): {'raw_scores': True}} skl2onnx exports "
           "its scores, which can be trained";
  if (domain == classicDomain)
    return "linear models and networks of scikit-learn are trained, and "
           "StandardScaler and Normalizer ahead of them; do other steps "
           "before the data is stored";
  if (!domain.empty())
    return "export without fused or custom operators, and inline local "
           "functions with onnx.inliner.inline_local_functions";
  for (const Alternative &row : table)
    if (llvm::is_contained(row.operators, name))
      return row.text;
  return "README.md lists the operators that are, docs/extending.md says how "
         "to add one";
}

bool UnsupportedOperators::take(const NodeView &node) {
  std::string domain = node.proto().domain();
  if (domain == "ai.onnx")
    domain.clear();
  if (domain.empty() && findOnnxOp(node.op()))
    return false;
  nodes[{domain, node.proto().op_type()}].push_back(
      layerName(node.proto()).str());
  return true;
}

void UnsupportedOperators::report(Reporter &reporter) const {
  constexpr size_t shown = 3;
  for (const auto &[key, names] : nodes) {
    const auto &[domain, name] = key;
    std::string list;
    for (StringRef node : llvm::ArrayRef(names).take_front(shown))
      list += (list.empty() ? "'" : ", '") + node.str() + "'";
    if (names.size() > shown)
      list += " and " + std::to_string(names.size() - shown) + " more";
    reporter.error() << "the operator " << (domain.empty() ? "" : domain + ".")
                     << name << " (" << names.size()
                     << (names.size() == 1 ? " node: " : " nodes: ") << list
                     << ") is not supported; " << alternativeTo(domain, name);
  }
}
