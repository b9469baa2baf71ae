//===- Assembly.cpp - The calls that deliver a tensor ---------------------===//

#include "passes/plan/price/Assembly.h"
#include "ir/place/Layout.h"
#include "passes/shard/Assembler.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <set>

using namespace lwcc;
using namespace lwcc::plan;
using tiling::Box;

namespace {
/// The values that deliver a tensor, noted as the assembler asks for them.
class Delivery : public shard::Assembler {
public:
  Delivery(int64_t elementBytes, bool withKeys)
      : elementBytes(elementBytes), withKeys(withKeys) {}

  /// Adds a piece that a tile made.
  void add(const PlacedRegion &piece) {
    pieces.push_back(
        {piece.region, note({Kind::piece, piece.device, piece.region})});
  }
  void deliver(const PlacedRegion &wanted) {
    if (!delivered.insert({wanted.region, wanted.device}).second)
      return;
    Place place = placeOn(wanted.device);
    int value =
        combine(partsOf(pieces, wanted.region, place), wanted.region, place);
    values[value].readByKernels = true;
  }
  /// The calls that all this takes.
  Assembly assembly();

protected:
  Place placeOf(int value) const override {
    return placeOn(values[value].device);
  }
  int slice(const Part &piece, const Box &part) override {
    return note({Kind::slice, values[piece.value].device, part, {piece.value}});
  }
  int transfer(int value, Place place) override {
    for (int user : values[value].users)
      if (values[user].kind == Kind::transfer &&
          values[user].device == place.gpu)
        return user;
    return note({Kind::transfer, place.gpu, values[value].region, {value}});
  }
  int concat(llvm::ArrayRef<int> parts, const Box &region, size_t axis,
             Place place) override {
    int made = note(
        {Kind::concat, place.gpu, region, llvm::SmallVector<int, 2>(parts)});
    values[made].axis = axis;
    return made;
  }
  int pad(const Part &part, const Box &region, Place place) override {
    return note({Kind::pad, place.gpu, region, {part.value}});
  }
  int sum(llvm::ArrayRef<int> terms, const Box &region, Place place) override {
    return note(
        {Kind::sum, place.gpu, region, llvm::SmallVector<int, 2>(terms)});
  }
  int zeros(const Box &region, Place place) override {
    return note({Kind::fill, place.gpu, region});
  }

private:
  enum class Kind { piece, slice, transfer, concat, pad, sum, fill };
  struct Value {
    Kind kind;
    int64_t device;
    Box region;
    llvm::SmallVector<int, 2> operands = {};
    llvm::SmallVector<int, 2> users = {};
    size_t axis = 0;
    bool readByKernels = false;
    bool isDense = false; ///< a concat of parts that can be made in it
    /// Whether it needs no call: a view, a window, or made in its place.
    bool isFree = false;
    /// Whether another device gets it, or what is made of it here.
    bool sends = false;
  };
  static Place placeOn(int64_t device) { return {0, device, Lane()}; }

  int note(Value value) {
    int number = static_cast<int>(values.size());
    for (int operand : value.operands)
      values[operand].users.push_back(number);
    values.push_back(std::move(value));
    return number;
  }
  bool isDense(const Box &whole, const Box &part) const {
    return tiling::partOffset(whole, part, elementBytes).has_value();
  }
  bool partsAreDense(const Value &concat) const;
  bool isWindow(const Value &slice) const;
  bool readsStrided(int user) const;
  int sliceOf(int term) const;
  bool isReadElsewhere(const Value &transfer) const;
  void findFree();
  Assembly::Call callOf(const Value &value) const;
  std::string keyOf(const Value &value) const;

  const int64_t elementBytes;
  const bool withKeys;
  std::vector<Part> pieces;
  std::vector<Value> values;
  std::set<std::pair<Box, int64_t>> delivered;
};
} // namespace

//===----------------------------------------------------------------------===//
// What needs no call
//===----------------------------------------------------------------------===//

bool Delivery::partsAreDense(const Value &concat) const {
  return llvm::all_of(concat.operands, [&](int part) {
    return isDense(concat.region, values[part].region);
  });
}

/// The slice that makes a term of a sum, on this device or another; -1 if none
/// does.
int Delivery::sliceOf(int term) const {
  if (values[term].kind == Kind::transfer)
    term = values[term].operands[0];
  return values[term].kind == Kind::slice ? term : -1;
}

/// Whether a user of slices reads them where they are. A concat does; a sum, if
/// all its terms are slices of tensors of one shape, none of which is a view
/// (ir/exec/Views.h, isWindow).
bool Delivery::readsStrided(int user) const {
  const Value &reader = values[user];
  if (reader.kind != Kind::sum)
    return reader.kind == Kind::concat;
  auto outer = [&](int slice) {
    return shapeOf(values[values[slice].operands[0]].region);
  };
  int first = sliceOf(reader.operands[0]);
  return first >= 0 && llvm::all_of(reader.operands, [&](int term) {
           int other = sliceOf(term);
           return other >= 0 && outer(other) == outer(first) &&
                  !isDense(values[values[other].operands[0]].region,
                           values[other].region);
         });
}

bool Delivery::isWindow(const Value &slice) const {
  auto strided = [&](const Value &value) {
    return !value.readByKernels && llvm::all_of(value.users, [&](int user) {
      return values[user].kind == Kind::transfer || readsStrided(user);
    });
  };
  return strided(slice) && llvm::all_of(slice.users, [&](int user) {
           return values[user].kind != Kind::transfer || strided(values[user]);
         });
}

bool Delivery::isReadElsewhere(const Value &transfer) const {
  const Value &source = values[transfer.operands[0]];
  bool window = source.kind == Kind::slice && source.isFree &&
                !isDense(values[source.operands[0]].region, source.region);
  return !transfer.readByKernels && llvm::all_of(transfer.users, [&](int user) {
    const Value &reader = values[user];
    return reader.kind == Kind::concat ? window || !reader.isDense
                                       : reader.kind == Kind::sum;
  });
}

void Delivery::findFree() {
  for (Value &value : values)
    value.isDense = value.kind == Kind::concat && partsAreDense(value);
  for (Value &value : values)
    if (value.kind == Kind::slice)
      value.isFree = isDense(values[value.operands[0]].region, value.region) ||
                     isWindow(value);
  for (Value &value : values)
    if (value.kind == Kind::transfer)
      value.isFree = isReadElsewhere(value);
  for (Value &value : llvm::reverse(values))
    value.sends = llvm::any_of(value.users, [&](int user) {
      return values[user].kind == Kind::transfer || values[user].sends;
    });
  // A value is made in one place only, a view in none.
  std::set<int> placed;
  for (Value &value : values)
    if (value.kind == Kind::concat)
      value.isFree =
          value.isDense && llvm::all_of(value.operands, [&](int part) {
            return (values[part].kind == Kind::piece || !values[part].isFree) &&
                   placed.insert(part).second;
          });
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

std::string Delivery::keyOf(const Value &value) const {
  static constexpr llvm::StringLiteral names[] = {
      "", "slice", "transfer", "concat", "pad", "sum", "fill"};
  std::string text = names[static_cast<int>(value.kind)].str();
  llvm::raw_string_ostream os(text);
  if (value.kind == Kind::concat)
    os << " axis=" << value.axis;
  auto print = [&](const Box &box) {
    os << " ";
    llvm::interleave(shapeOf(box), os, "x");
  };
  print(value.region);
  os << " <";
  for (int operand : value.operands) {
    const Value *from = &values[operand];
    print(from->region);
    if (from->kind == Kind::transfer && from->isFree)
      os << "@";
  }
  return text;
}

Assembly::Call Delivery::callOf(const Value &value) const {
  Assembly::Call call;
  call.device = value.device;
  call.work.bytes = volume(value.region);
  for (int operand : value.operands) {
    const Value &from = values[operand];
    // A slice reads no more than it makes.
    double bytes =
        volume(value.kind == Kind::slice ? value.region : from.region);
    call.work.bytes += bytes;
    if (from.kind == Kind::transfer && from.isFree)
      call.remote.push_back({values[from.operands[0]].device, value.device,
                             bytes * static_cast<double>(elementBytes)});
  }
  call.work.bytes *= static_cast<double>(elementBytes);
  call.made = volume(value.region) * static_cast<double>(elementBytes);
  call.sends = value.sends;
  if (withKeys)
    call.work.key = keyOf(value);
  return call;
}

Assembly Delivery::assembly() {
  findFree();
  Assembly result;
  for (const Value &value : values) {
    if (value.isFree || value.kind == Kind::piece)
      continue;
    if (value.kind == Kind::transfer)
      result.sent.push_back(
          {values[value.operands[0]].device, value.device,
           volume(value.region) * static_cast<double>(elementBytes)});
    else
      result.calls.push_back(callOf(value));
  }
  return result;
}

Assembly plan::assemble(llvm::ArrayRef<PlacedRegion> made,
                        llvm::ArrayRef<PlacedRegion> read, int64_t elementBytes,
                        bool withKeys) {
  Delivery delivery(elementBytes, withKeys);
  for (const PlacedRegion &piece : made)
    delivery.add(piece);
  for (const PlacedRegion &wanted : read)
    delivery.deliver(wanted);
  return delivery.assembly();
}
