//===- ChannelsLastInputs.cpp - Images that a model takes as [h, w, c] ----===//
//
// Keras has the channels of images last. The program takes them second, as it
// does of all models, so that readers know what is a channel: whoever reads
// pictures resizes height and width. The exported file has its input as it was.
//
// Goes by what the user says (--input), else by what the model does: an input
// of images with channels last is brought to channels second, perhaps behind
// maps and a border, before anything else reads it.
//
//===----------------------------------------------------------------------===//

#include "frontend/NodeImporter.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace lwcc;
using namespace llvm;
using mlir::Block;
using mlir::MLIRContext;
using mlir::OpBuilder;
using mlir::Operation;
using mlir::Value;

/// Grey or in colour. What is something else has no order but the model's.
static bool arePictures(ArrayRef<int64_t> shape) {
  return shape.size() == 4 && (shape[3] == 1 || shape[3] == 3) &&
         shape[1] > shape[3] && shape[2] > shape[3];
}

/// Whether everything that reads images [n, h, w, c] brings the channels to the
/// second dimension.
static bool bringsChannelsSecond(Value images) {
  const int64_t channels = shapeOf(images)[3];
  // What the images become by maps and borders, each value once.
  SetVector<Value> known;
  known.insert(images);
  for (size_t i = 0; i < known.size(); ++i) {
    ArrayRef<int64_t> shape = shapeOf(known[i]);
    if (shape.size() != 4 || shape[3] != channels || known[i].use_empty())
      return false;
    const Shape second = {shape[0], channels, shape[1], shape[2]};
    for (Operation *user : known[i].getUsers()) {
      auto transpose = dyn_cast<train::TransposeOp>(user);
      auto reshape = dyn_cast<train::ReshapeOp>(user);
      if (isa<train::MapOp, train::PadOp>(user))
        known.insert(user->getResult(0));
      else if (transpose ? transpose.getPerm() != ArrayRef<int64_t>{0, 3, 1, 2}
                         // Of one channel no element moves.
                         : !reshape || channels != 1 ||
                               shapeOf(reshape.getY()) != ArrayRef(second))
        return false;
    }
  }
  return true;
}

/// Whether data of an input shall be read with channels second while the model
/// has them last: as the user says, else as is seen.
bool GraphImporter::isChannelsLast(Value input, StringRef name,
                                   ArrayRef<Value> heads) {
  Shape shape(lwcc::shapeOf(input));
  // Where a model gives back its input, targets have its order, too. Of one
  // channel no element moves.
  const bool isGivenBack =
      shape.size() == 4 && shape[3] > 1 && any_of(heads, [&](Value head) {
        return shapeOf(head) == ArrayRef(shape);
      });
  auto said = find_if(graph.layouts, [&](const InputLayout &layout) {
    return layout.name == name;
  });
  if (said == graph.layouts.end())
    return arePictures(shape) && !isGivenBack && ::bringsChannelsSecond(input);
  if (shape.size() != 4)
    reporter.error() << "has the input '" << name << "' of shape "
                     << printShape(shape)
                     << ", which --input calls images; these have four "
                        "dimensions";
  else if (said->channelsLast && isGivenBack)
    reporter.error() << "gives its input '" << name << "' back ("
                     << printShape(shape)
                     << "): data and targets have one order, so leave out "
                        "--input="
                     << name << "=nhwc and give both as the file has them";
  return succeeded(reporter.result()) && said->channelsLast;
}

void GraphImporter::bringChannelsSecond(ArrayRef<Value> heads) {
  Block &body = function.front();
  MLIRContext *context = builder.getContext();
  SmallVector<mlir::Attribute> turned;
  for (auto [info, argument] : zip(graph.inputs, body.getArguments())) {
    Shape shape(lwcc::shapeOf(argument));
    if (OnnxGraph::takesIntegers(*info) ||
        !isChannelsLast(argument, info->name(), heads))
      continue;
    argument.setType(
        train::tensorOf(context, {shape[0], shape[3], shape[1], shape[2]}));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&body);
    auto last = train::TransposeOp::create(
        builder, reporter.atFile(), train::tensorOf(context, shape), argument,
        ArrayRef<int64_t>{0, 2, 3, 1});
    std::string name = info->name() + ".channels_last";
    train::setWork(last, name, Phase::forward);
    train::setNames(last, {name});
    argument.replaceAllUsesExcept(last.getY(), last);
    turned.push_back(builder.getStringAttr(info->name()));
    reporter.note() << "takes images with channels last as input '"
                    << info->name() << "' (" << printShape(shape)
                    << "): data are read as images of " << shape[1] << "x"
                    << shape[2] << " with " << shape[3]
                    << (shape[3] == 1 ? " channel" : " channels");
  }
  if (!turned.empty())
    (*module)->setAttr(train::channelsLastAttr, builder.getArrayAttr(turned));
}
