//===- TrainAttrs.td - The attributes of the train dialect -*- tablegen -*-===//
//
// Structure is in these attributes, from the frontend to the printer: work,
// place, tiling, tile, order, initial value. Names of ops, tensors and symbols
// are for people; nothing reads structure from them.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_TRAIN_ATTRS
#define LWCC_IR_TRAIN_ATTRS

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def TrainDialect : Dialect {
  let name = "train";
  let summary = "A training step on values";
  let cppNamespace = "::lwcc::train";
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let extraClassDeclaration = "void registerAttributes();";
}

class TrainAttr<string name, string keyword, list<Trait> traits = []>
    : AttrDef<TrainDialect, name, traits> {
  let mnemonic = keyword;
}

def PlaceAttr : TrainAttr<"Place", "place"> {
  let summary = "where a value lives or an op runs: node, GPU of the node, lane";
  let description = [{
    As the encoding of a tensor type (forms sharded and later), `lane` is the
    lane of the producer. `#train.place<"0.1.0">` is GPU 1 of node 0, lane 0
    (ir/place/Place.h).
  }];
  let parameters = (ins "::lwcc::Place":$value);
  let hasCustomAssemblyFormat = 1;
}

def WorkAttr : TrainAttr<"Work", "work"> {
  let summary = "what an op or a call serves: a layer, in a phase, one of its tiles";
  let description = [{
    `#train.work<"conv1" backward tile 2>`. Ops carry it as train.work from the
    frontend on, calls of the form exec as an operand, so that order, reports and
    the printed text need not guess (ir/place/Work.h). Without a tile: work of
    the layer as a whole, or the layer has one tile.
  }];
  let parameters = (ins StringRefParameter<>:$layer, "::lwcc::Phase":$phase,
                        "std::optional<int64_t>":$tile);
  let hasCustomAssemblyFormat = 1;
}

def TaskAttr : TrainAttr<"Task", "task"> {
  let summary = "work of one lane that a plan puts in order";
  let description = [{
    `#train.task<"conv1" backward tile 2>`; without a tile it names all tiles of
    the layer on the lane. Neighbours of one group, such as
    `#train.task<"conv1" forward tile 2 in "stage0[2]">`, have no order among
    themselves.
  }];
  let parameters = (ins StringRefParameter<>:$layer, "::lwcc::Phase":$phase,
                        "std::optional<int64_t>":$tile,
                        StringRefParameter<>:$group);
  let hasCustomAssemblyFormat = 1;
}

def LaneOrderAttr : TrainAttr<"LaneOrder", "lane_order"> {
  let summary = "the order in which a lane does some of its work";
  let description = [{
    `#train.lane_order<<"0.1.0">: <"conv1" forward tile 1>, <"conv2" forward>>`.
    What is not named runs when the schedule finds it best.
  }];
  let parameters = (ins "PlaceAttr":$lane, ArrayRefParameter<"TaskAttr">:$tasks);
  let assemblyFormat = "`<` $lane `:` $tasks `>`";
}

def LaneWidthAttr : TrainAttr<"LaneWidth", "lane_width"> {
  let summary = "how many of its device's threads a compute lane has";
  let description = [{
    `#train.lane_width<<"0.0.1">: 2>`: 2 of those of all lanes of the device,
    where a lane without a width counts as 1 (CPU only).
  }];
  let parameters = (ins "PlaceAttr":$lane, "int64_t":$threads);
  let assemblyFormat = "`<` $lane `:` $threads `>`";
}

def TileAttr : TrainAttr<"Tile", "tile"> {
  let summary = "which part of an op's results a tile of it makes";
  let description = [{
    `#train.tile<n 1 of 4 c 0 of 2>`: the position and the number of parts along
    each dimension that is cut. The op may be cut otherwise than its layer.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$index,
                        ArrayRefParameter<"int64_t">:$degrees);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The dimensions that are cut: "nc". Devices that hold different tiles of a
    /// tensor call them by these.
    std::string letters() const;
    std::string text() const; ///< "n1c0"
  }];
}

def TilingAttr : TrainAttr<"Tiling", "tiling"> {
  let genMnemonicAlias = 1; // written once per module, not on every op
  let summary = "how a layer is cut, and the place of every tile";
  let description = [{
    Degrees of sample (n), channel (c), height (h), width (w) and reduction (k),
    and one place per tile, row-major over (n, c, h, w, k). Parts are of equal
    size (to one element), except along the dimensions that `sizes` names: there
    they have these proportions.
  }];
  let parameters = (ins "int64_t":$n, "int64_t":$c, "int64_t":$h, "int64_t":$w,
                        "int64_t":$k, ArrayRefParameter<"PlaceAttr">:$places,
                        OptionalParameter<"::mlir::DictionaryAttr">:$sizes);
  let assemblyFormat = [{
    `<` `n` `=` $n `c` `=` $c `h` `=` $h `w` `=` $w `k` `=` $k `on` `[` $places `]`
    (`sizes` `=` $sizes^)? `>`
  }];
  let genVerifyDecl = 1;
}

def InitAttr : TrainAttr<"Init", "init"> {
  let summary = "where a parameter's first value comes from";
  let description = [{
    `kind` is "blob" (bytes of the weights blob from `offset`), "constant" (a),
    "normal" (mean a, standard deviation b) or "uniform" (from a to b). Random
    values are drawn by the trainer, by global element index.
  }];
  let parameters = (ins StringRefParameter<>:$kind, "int64_t":$offset,
                        "::llvm::APFloat":$a, "::llvm::APFloat":$b);
  let hasCustomAssemblyFormat = 1;
}

def RoleAttr : TrainAttr<"Role", "role"> {
  let summary = "what a tensor is for (runtime/core/Role.h)";
  let description = [{
    `#train.role<labels>`. An argument of a function says what the trainer puts
    there, and the ops that declare tensors have one: train.parameter, of state,
    and exec.buffer.
  }];
  let parameters = (ins "::lwcc::Role":$value);
  let hasCustomAssemblyFormat = 1;
}

#endif // LWCC_IR_TRAIN_ATTRS
