//===- InitialWeights.cpp - First weights from somebody's file ------------===//

#include "runtime/train/state/InitialWeights.h"

#include "runtime/core/Error.h"
#include "runtime/train/files/Text.h"
#include "runtime/train/state/GlobalTensors.h"

#include <algorithm>
#include <cassert>
#include <filesystem>
#include <unordered_map>
#include <unordered_set>

namespace lwcc::rt::train {

InitialWeights::InitialWeights(const std::string &path, const Program &program)
    : path(path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    throw Error(path + ": is a folder; name a file of tensors, such as a "
                       "checkpoint's model.safetensors");
  if (path.ends_with(".onnx")) {
    onnx.emplace(path);
    offered = onnx->tensors();
  } else {
    // torch.save writes a zip archive, or did write a pickle.
    const MappedFile file(path);
    if (file.text().starts_with("PK\x03\x04") ||
        file.text().starts_with("\x80\x02"))
      throw Error(path + ": is a file of torch.save, which only Python reads; "
                         "safetensors.torch.save_file writes one that can be "
                         "read here");
    safetensors.emplace(path);
    for (const TensorEntry &entry : safetensors->tensors())
      offered.push_back(
          {entry.name, entry.type, entry.dims, safetensors->data(entry)});
  }
  match(program);
}

void InitialWeights::match(const Program &program) {
  std::unordered_map<std::string, const FileTensor *> byName;
  for (const FileTensor &tensor : offered)
    byName.emplace(tensor.name, &tensor);
  std::unordered_set<std::string> wanted;
  for (const StateTensor &state : program.state) {
    const GlobalTensor &tensor = state.tensor;
    if (!isWeight(state.role) && state.role != Role::statistic)
      continue;
    const std::string text = tensor.name + " " + dimsText(tensor.dims);
    auto found = byName.find(tensor.name);
    if (found == byName.end()) {
      absent.push_back(text);
      continue;
    }
    wanted.insert(tensor.name);
    const FileTensor &source = *found->second;
    assert(typeOf(tensor) == DType::f32 && "weights are floats");
    if (source.dims == tensor.dims && becomesFloat(source.type) && source.data)
      taken.push_back({&tensor, &source});
    else if (becomesFloat(source.type) && !source.data)
      different.push_back(text + ", stored in another way than as raw_data");
    else
      different.push_back(text + ", " + dimsText(source.dims) + " " +
                          nameOf(source.type) + " in the file");
  }
  for (const FileTensor &tensor : offered)
    if (becomesFloat(tensor.type) && !wanted.count(tensor.name))
      unused.push_back(tensor.name + " " + dimsText(tensor.dims));
  if (taken.empty())
    throw Error(path + ": no tensor of " + program.model +
                " has its name and shape in this file" +
                listText("not in the file", absent) +
                listText("of another shape or type there", different) +
                listText("only in the file", unused));
}

void InitialWeights::write(Machine &machine) const {
  std::vector<float> host;
  for (const Pair &pair : taken) {
    host.resize(elementsOf(*pair.tensor));
    copyAsFloats(pair.source->type, pair.source->data, elementsOf(*pair.tensor),
                 host.data());
    writeGlobal(machine, *pair.tensor, host.data());
  }
}

std::string InitialWeights::describe() const {
  const size_t all = taken.size() + absent.size() + different.size();
  std::string lists =
      listText("with their first values, not in the file", absent) +
      listText("with their first values, of another shape or type there",
               different) +
      listText("only in the file", unused);
  // Below the row of a banner.
  for (size_t at = 0; (at = lists.find('\n', at)) != std::string::npos; ++at)
    lists.insert(at + 1, "  ");
  return format("%zu of %s from %s", taken.size(),
                plural(static_cast<int64_t>(all), "tensor").c_str(),
                path.c_str()) +
         lists;
}

} // namespace lwcc::rt::train
