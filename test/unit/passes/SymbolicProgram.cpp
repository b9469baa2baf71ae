//===- SymbolicProgram.cpp - Memory, buffers and sequences on tags --------===//

#include "SymbolicProgram.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;
using namespace lwcc::test;

std::vector<int64_t> test::coordinatesOf(ArrayRef<int64_t> dims,
                                         int64_t index) {
  std::vector<int64_t> result(dims.size());
  for (size_t d = dims.size(); d-- > 0; index /= dims[d])
    result[d] = index % dims[d];
  return result;
}

/// The bytes of a value have tags that follow each other, so that an element
/// of which another write hit a part is no longer that value.
Tag test::readCell(const Image &image, Cell cell) {
  const Tag *tags = image.data() + cell.at;
  bool whole = true;
  for (int b = 1; b < cell.bytes; ++b)
    whole &= tags[b] == tags[0] + b;
  if (whole)
    return tags[0];
  Tag torn = 2;
  for (int b = 0; b < cell.bytes; ++b)
    torn = mix(torn, tags[b]);
  return torn;
}

void test::writeCell(Image &image, Cell cell, Tag tag) {
  for (int b = 0; b < cell.bytes; ++b)
    image[cell.at + b] = tag + b;
}

void test::run(const Call &call, Image &image) {
  Tag shared = 3;
  for (Cell cell : call.shared)
    shared = mix(shared, readCell(image, cell));
  std::vector<Tag> tags;
  tags.reserve(call.groups.size());
  const Cell *in = call.ins.data();
  for (const Call::Group &group : call.groups) {
    Tag tag = call.shared.empty() ? group.seed : mix(group.seed, shared);
    for (const Cell *end = call.ins.data() + group.insEnd; in != end; ++in)
      tag =
          group.copies ? readCell(image, *in) : mix(tag, readCell(image, *in));
    tags.push_back(tag);
  }
  const auto *out = call.outs.data();
  for (auto [group, tag] : llvm::zip_equal(call.groups, tags))
    for (const auto *end = call.outs.data() + group.outsEnd; out != end; ++out)
      writeCell(image, out->first, out->second ? mix(tag, out->second) : tag);
}

/// Channels-last where the rank is 4, else row-major.
static std::vector<int64_t> stridesFor(ArrayRef<int64_t> dims) {
  std::vector<int64_t> strides(dims.size());
  int64_t next = 1;
  auto place = [&](size_t d) {
    strides[d] = next;
    next *= dims[d];
  };
  if (dims.size() == 4)
    for (size_t d : {1, 3, 2, 0})
      place(d);
  else
    for (size_t d = dims.size(); d-- > 0;)
      place(d);
  return strides;
}

namespace {

class Reader {
public:
  Reader(ProgramOp program, bool byRoot) : program(program), byRoot(byRoot) {}
  SymbolicProgram read();

private:
  struct Memory {
    int64_t begin = 0, end = 0; ///< in the image
  };
  Memory &addMemory(StringRef name, int64_t bytes);
  void addBuffer(BufferOp buffer);
  void addPersistent(BufferOp buffer, const View &view);
  std::vector<Item> itemsOf(SequenceOp sequence);

  ProgramOp program;
  bool byRoot;
  SymbolicProgram result;
  llvm::StringMap<Memory> memories; ///< of devices or roots
  llvm::StringMap<std::string> memoryOf;
  llvm::StringMap<int> lanes;
  llvm::StringMap<KernelOp> kernels;
  llvm::StringMap<View> views;
};

} // namespace

Reader::Memory &Reader::addMemory(StringRef name, int64_t bytes) {
  Memory &memory = memories[name];
  memory.begin = result.start.size();
  memory.end = memory.begin + bytes;
  Tag garbage = byRoot ? 11 : 77; // never equal: reading it is a mistake
  for (int64_t i = memory.begin; i < memory.end; ++i)
    result.start.push_back(mix(garbage, i));
  return memory;
}

void Reader::addBuffer(BufferOp buffer) {
  View view;
  view.type = cast<RankedTensorType>(buffer.getType());
  ArrayRef<int64_t> dims = view.type.getShape();
  view.strides = stridesFor(dims);
  int bytes = view.type.getElementTypeBitWidth() / 8;
  StringRef name = buffer.getSymName();
  int64_t offset = buffer.getOffset();
  if (auto parent = buffer.getViewOf()) {
    const View &whole = views.at(*parent);
    memoryOf[name] = memoryOf[*parent];
    view.first = view.declared = whole.declared + offset;
    if (auto window = buffer.getWindow()) { // where it lies in the whole
      view.strides = whole.strides;
      view.first = whole.first;
      for (auto [begin, stride] : llvm::zip_equal(*window, whole.strides))
        view.first += begin * stride * bytes;
    }
  } else if (byRoot) {
    memoryOf[name] = name.str();
    Memory &memory = addMemory(name, view.type.getNumElements() * bytes);
    view.first = view.declared = memory.begin;
  } else {
    memoryOf[name] = buffer.getDevice().str();
    view.first = view.declared = memories[memoryOf[name]].begin + offset;
  }
  const Memory &memory = memories[memoryOf[name]];
  for (int64_t i = 0, e = view.type.getNumElements(); i < e; ++i) {
    int64_t at = view.first;
    for (auto [c, stride] :
         llvm::zip_equal(coordinatesOf(dims, i), view.strides))
      at += c * stride * bytes;
    view.cells.push_back({at, bytes});
    view.inside &= at >= memory.begin && at + bytes <= memory.end;
  }
  if (!buffer.getViewOf() && buffer.isPersistent())
    addPersistent(buffer, view);
  views.try_emplace(name, std::move(view));
}

/// The trainer loads and saves elements of tensors, wherever they lie. It knows
/// loss and metric by their roles.
void Reader::addPersistent(BufferOp buffer, const View &view) {
  if (!view.inside) {
    result.mistake = "a persistent buffer is outside its memory";
    return;
  }
  Tag tensor = 10;
  DenseI64ArrayAttr begin;
  if (!isResult(buffer.getRole())) {
    tensor = tagOf(buffer.getTensorName());
    for (StringRef property : {"exec.dims", "exec.init", "exec.fresh"})
      tensor = mix(tensor, tagOf(buffer->getAttr(property)));
    begin = buffer->getAttrOfType<DenseI64ArrayAttr>("exec.begin");
  }
  bool given = isGiven(buffer.getRole());
  for (auto [i, cell] : llvm::enumerate(view.cells)) {
    Tag element = tensor;
    for (auto [d, c] : llvm::enumerate(coordinatesOf(view.type.getShape(), i)))
      element = mix(element, begin && d < static_cast<size_t>(begin.size())
                                 ? begin[d] + c
                                 : c);
    writeCell(result.start, cell, element);
    if (given) {
      result.given.push_back(cell);
      continue;
    }
    result.kept.push_back(
        {mix(element, static_cast<Tag>(buffer.getRole())), cell});
  }
}

std::vector<Item> Reader::itemsOf(SequenceOp sequence) {
  std::vector<Item> items;
  llvm::StringMap<int> recorded;
  for (Operation &op : sequence.getBody().front()) {
    Item item;
    if (auto record = dyn_cast<RecordOp>(op)) {
      item.kind = Item::record;
      item.lane = lanes.at(record.getLane());
      recorded[record.getEvent()] = items.size();
    } else if (auto wait = dyn_cast<WaitOp>(op)) {
      item.kind = Item::wait;
      item.lane = lanes.at(wait.getLane());
      auto record = recorded.find(wait.getEvent());
      // Appended before its record it waits for nothing, or for ever.
      if (record == recorded.end())
        result.mistake = "waits before the record";
      else
        item.awaited = record->second;
    } else {
      auto call = cast<CallOp>(op);
      item.lane = lanes.at(call.getLane());
      auto viewsOf = [&](ArrayAttr list) {
        return llvm::map_to_vector(list, [&](Attribute a) -> const View * {
          auto name = dyn_cast<FlatSymbolRefAttr>(a);
          return name ? &views.at(name.getValue()) : nullptr;
        });
      };
      item.what = describeCall(
          call, call.getKernel() ? kernels.at(*call.getKernel()) : KernelOp(),
          viewsOf(call.getIns()), viewsOf(call.getOuts()));
      if (!item.what.mistake.empty())
        result.mistake = item.what.mistake;
    }
    items.push_back(std::move(item));
  }
  return items;
}

SymbolicProgram Reader::read() {
  for (Operation &op : program.getBody().front()) {
    if (auto device = dyn_cast<DeviceOp>(op); device && !byRoot)
      addMemory(device.getSymName(), device.getArena());
    if (auto lane = dyn_cast<LaneOp>(op))
      lanes[lane.getSymName()] = result.lanes++;
    if (auto kernel = dyn_cast<KernelOp>(op))
      kernels[kernel.getSymName()] = kernel;
    if (auto buffer = dyn_cast<BufferOp>(op))
      addBuffer(buffer);
  }
  llvm::stable_sort(result.kept,
                    [](const Kept &a, const Kept &b) { return a.key < b.key; });
  for (auto sequence : program.getBody().getOps<SequenceOp>())
    result.sequences.push_back(
        {sequence.getSymName().str(), itemsOf(sequence)});
  llvm::sort(result.sequences,
             [](auto &a, auto &b) { return a.first < b.first; });
  return std::move(result);
}

SymbolicProgram test::readProgram(ProgramOp program, bool byRoot) {
  return Reader(program, byRoot).read();
}
