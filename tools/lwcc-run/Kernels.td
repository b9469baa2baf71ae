//===- Kernels.td - The runtime functions, as rows ---------*- tablegen -*-===//
//
// From the records of the train dialect: for each op that is a runtime call, its
// name and the fields of its parameter struct. Registry.cpp makes calls of them.
// Generated kernels (map) have no function of their own.
//
//===----------------------------------------------------------------------===//

include "llvm/TableGen/SearchableTable.td"
include "ir/train/TrainOps.td"

class Row<Kernel kernel> {
  defvar arguments = kernel.arguments;
  defvar attributes = !filter(i, !range(!size(arguments)),
      !initialized(!getdagarg<Attr>(arguments, i)));
  defvar fields = !foreach(i, attributes, "LWCC_FIELD(" # !getdagname(arguments, i) # ")");
  string name = kernel.opName;
  string call = "LWCC_CALL(" # kernel.opName # ", " # !interleave(fields, " ") # ")";
}

foreach kernel = !instances<Kernel>() in
  def : Row<kernel>;

def Kernels : GenericTable {
  let FilterClass = "Row";
  let CppTypeName = "Row";
  let Fields = ["name", "call"];
  string TypeOf_call = "code";
}
