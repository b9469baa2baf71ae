//===- ExecOps.td - The exec dialect -----------------------*- tablegen -*-===//
//
// A program for machines: named devices, lanes, events and buffers, and
// sequences of calls on lanes. One op is one line of the emitted program.
// Everything is a symbol with its ONNX-derived name; there are no SSA values.
// See README.md for the invariants.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_EXEC_OPS
#define LWCC_IR_EXEC_OPS

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"

def ExecDialect : Dialect {
  let name = "exec";
  let summary = "A scheduled program on devices, lanes and buffers";
  let cppNamespace = "::lwcc::exec";
  let useDefaultAttributePrinterParser = 1;
  // Calls name runtime functions, and ops of the train dialect describe these.
  let dependentDialects = ["::lwcc::train::TrainDialect"];
}

class ExecOp<string mnemonic, list<Trait> traits = []> : Op<ExecDialect, mnemonic, traits>;

def LaneKindAttr : AttrDef<ExecDialect, "LaneKind"> {
  let mnemonic = "lane_kind";
  let summary = "what a lane is for (ir/place/Place.h)";
  let parameters = (ins "::lwcc::LaneKind":$value);
  let hasCustomAssemblyFormat = 1;
}

/// An attribute of the train dialect; its ops are not included here.
class TrainAttribute<string name, string summary>
    : Attr<CPred<"::llvm::isa<::lwcc::train::" # name # ">($_self)">, summary> {
  let storageType = "::lwcc::train::" # name;
  let returnType = storageType;
  let convertFromStorage = "$_self";
}
def WorkAttr : TrainAttribute<"WorkAttr", "a layer in a phase, or one of its tiles">;
def TileAttr : TrainAttribute<"TileAttr", "the position of a tile in its tensor">;
/// Read and set as the enum.
def RoleAttr : TrainAttribute<"RoleAttr", "what a tensor is for"> {
  let returnType = "::lwcc::Role";
  let convertFromStorage = "$_self.getValue()";
  let constBuilderCall = "::lwcc::train::RoleAttr::get($_builder.getContext(), $0)";
}

def ProgramOp : ExecOp<"program", [Symbol, SymbolTable, IsolatedFromAbove, NoTerminator, SingleBlock]> {
  let summary = "everything one compiled trainer runs";
  let description = [{
    Devices, lanes, events, buffers, kernels and the sequences @train_step and
    @evaluate. Its attributes (model, batch, ...) are for people and for the
    trainer's --info.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
}

def DeviceOp : ExecOp<"device", [Symbol, HasParent<"ProgramOp">]> {
  let summary = "a GPU (or virtual device), with one arena";
  let description = "`arena` is its size in bytes, 0 before memory is planned.";
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$node, I64Attr:$gpu, I64Attr:$arena);
  let assemblyFormat = "$sym_name `node` $node `gpu` $gpu `arena` $arena attr-dict";
}

def LaneOp : ExecOp<"lane", [Symbol, HasParent<"ProgramOp">]> {
  let summary = "an in-order queue on a device";
  let description = [{
    `threads`: of a compute lane of a CPU device, how many it has of those of
    all the device's compute lanes. Absent: 1.
  }];
  let arguments = (ins LaneKindAttr:$kind, SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$device,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$threads);
  let assemblyFormat = "custom<LaneKind>($kind) $sym_name `on` $device (`threads` $threads^)? attr-dict";
  let builders = [OpBuilder<(ins "LaneKindAttr":$kind, "::llvm::StringRef":$name,
                                 "::llvm::StringRef":$device), [{
    build($_builder, $_state, kind, name, device, ::mlir::IntegerAttr());
  }]>];
  let extraClassDeclaration = "bool isCopy() { return getKind().getValue() != LaneKind::compute; }";
}

def EventOp : ExecOp<"event", [Symbol, HasParent<"ProgramOp">]> {
  let summary = "recorded on one lane, waited for on others; once per run";
  let arguments = (ins SymbolNameAttr:$sym_name);
  let assemblyFormat = "$sym_name attr-dict";
}

def BufferOp : ExecOp<"buffer", [Symbol, HasParent<"ProgramOp">]> {
  let summary = "named memory in a device's arena";
  let description = [{
    `offset` is in bytes, -1 before memory is planned. A view lies in the
    memory of another buffer, at `offset` bytes from its start. Rank-4 tensors
    are stored channels-last, others row-major; a view with a `window` is the
    part of the other buffer that begins at this element, where it is stored.

    `tensor` is the name of what it holds (absent: the symbol), `tile` the
    position if that is a tile of it. Buffers of several devices that hold tiles of one tensor are
    counterparts (Counterparts.h).
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$device, RoleAttr:$role,
                       TypeAttr:$type, I64Attr:$offset, OptionalAttr<FlatSymbolRefAttr>:$view_of,
                       OptionalAttr<DenseI64ArrayAttr>:$window,
                       OptionalAttr<StrAttr>:$tensor, OptionalAttr<TileAttr>:$tile);
  let assemblyFormat = [{
    custom<Role>($role) $sym_name (`of` $tensor^)? (`tile` $tile^)? `:` $type `on` $device
    (`view` $view_of^)? (`window` $window^)? `at` $offset attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType();
    /// The name of the tensor that the buffer holds, or holds a tile or part
    /// of.
    ::mlir::StringAttr getTensorName() {
      return getTensorAttr() ? getTensorAttr() : getSymNameAttr();
    }
    /// Bytes of its elements, without gaps.
    int64_t getBytes();
    /// Whether the contents survive from one run to the next.
    bool isPersistent();
  }];
}

def KernelOp : ExecOp<"kernel", [Symbol, HasParent<"ProgramOp">]> {
  let summary = "a generated elementwise kernel";
  let description = [{
    `expr` is in the language of ir/train/Expression.h over `inputs` inputs. It
    is computed in float32. What it loads and stores is, too, unless `elements`
    says the types: `(f32, i32) -> f32`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$inputs, StrAttr:$expr,
                       OptionalAttr<TypeAttrOf<FunctionType>>:$elements);
  let assemblyFormat = "$sym_name `(` $inputs `)` `=` $expr (`elements` $elements^)? attr-dict";
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "uint64_t":$inputs,
                                 "::llvm::StringRef":$expr), [{
    build($_builder, $_state, name, inputs, expr, ::mlir::TypeAttr());
  }]>];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Type getInputElement(uint64_t input);
    ::mlir::Type getResultElement();
  }];
}

def SequenceOp : ExecOp<"sequence", [Symbol, HasParent<"ProgramOp">, NoTerminator, SingleBlock]> {
  let summary = "work in the order in which it is appended to the lanes";
  let description = [{
    `meaning`: what the calls, one after the other, leave in the persistent
    buffers, and what the trainer is told that they are; a number each, in the
    order of their declarations (passes/verify/Meaning.h).
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<DenseI64ArrayAttr>:$meaning);
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name), [{
    build($_builder, $_state, name, ::mlir::DenseI64ArrayAttr());
  }]>];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body (`means` $meaning^)?";
}

def CallOp : ExecOp<"call", [HasParent<"SequenceOp">]> {
  let summary = "one runtime call";
  let description = [{
    `callee` is a runtime function: the name of a train op with the interface
    KernelOpInterface. "map" comes with the `kernel` that it launches.
    `ins` and `outs` are buffers, in the order of the runtime function; an
    absent one is `unit`. `params` are the fields of its parameter struct.
    `work` is what the call serves.
  }];
  let arguments = (ins StrAttr:$callee, FlatSymbolRefAttr:$lane, ArrayAttr:$outs,
                       ArrayAttr:$ins, OptionalAttr<FlatSymbolRefAttr>:$kernel,
                       OptionalAttr<DictionaryAttr>:$params, WorkAttr:$work);
  let assemblyFormat = [{
    $callee ($kernel^)? $ins `->` $outs `on` $lane `for` custom<Work>($work)
    (`with` $params^)? attr-dict
  }];
  let extraClassDeclaration = [{
    ::llvm::StringRef getLayer() { return getWork().getLayer(); }
    ::lwcc::Phase getPhase() { return getWork().getPhase(); }
  }];
  let hasVerifier = 1;
}

def RecordOp : ExecOp<"record", [HasParent<"SequenceOp">]> {
  let summary = "records an event on a lane";
  let arguments = (ins FlatSymbolRefAttr:$event, FlatSymbolRefAttr:$lane);
  let assemblyFormat = "$event `on` $lane attr-dict";
}

def WaitOp : ExecOp<"wait", [HasParent<"SequenceOp">]> {
  let summary = "makes a lane wait for an event";
  let arguments = (ins FlatSymbolRefAttr:$event, FlatSymbolRefAttr:$lane);
  let assemblyFormat = "$event `on` $lane attr-dict";
}

#endif // LWCC_IR_EXEC_OPS
