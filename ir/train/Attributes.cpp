//===- Attributes.cpp - The attributes of the train dialect ---------------===//
//
// Their syntax and what makes one valid by itself.
//
//===----------------------------------------------------------------------===//

#include "ir/train/Attributes.h"
#include "ir/Size.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::train;

#define GET_ATTRDEF_CLASSES
#include "ir/train/TrainAttrs.cpp.inc"

void TrainDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/train/TrainAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// `<"node.gpu.lane">`: the lexer would read 0.1 as a float.
Attribute PlaceAttr::parse(AsmParser &parser, Type) {
  std::string text;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseString(&text) || parser.parseGreater())
    return {};
  std::optional<Place> place = parsePlace(text);
  if (!place)
    return parser.emitError(loc, "expected a place \"node.gpu.lane\", found \"")
               << text << "\"",
           Attribute();
  return get(parser.getContext(), *place);
}

void PlaceAttr::print(AsmPrinter &printer) const {
  printer << "<\"" << getValue().text() << "\">";
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

namespace {
/// The fields that work and tasks have in common.
struct Fields {
  std::string layer;
  Phase phase = Phase::forward;
  std::optional<int64_t> tile;
};
} // namespace

static ParseResult parseFields(AsmParser &parser, Fields &fields) {
  StringRef word;
  if (parser.parseString(&fields.layer))
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return failure();
  std::optional<Phase> phase = phaseNamed(word);
  if (!phase)
    return parser.emitError(loc, "expected a phase (forward, backward, weight "
                                 "or update), found '")
           << word << "'";
  fields.phase = *phase;
  if (succeeded(parser.parseOptionalKeyword("tile"))) {
    loc = parser.getCurrentLocation();
    if (parser.parseInteger(fields.tile.emplace()))
      return failure();
    if (*fields.tile < 0)
      return parser.emitError(loc, "no layer has a tile ") << *fields.tile;
  }
  return success();
}

template <typename AttrT>
static void printFields(AsmPrinter &printer, AttrT attr) {
  printer.printString(attr.getLayer());
  printer << ' ' << phaseName(attr.getPhase());
  if (attr.getTile())
    printer << " tile " << *attr.getTile();
}

ParseResult lwcc::train::parseWork(AsmParser &parser, WorkAttr &work) {
  Fields fields;
  if (parseFields(parser, fields))
    return failure();
  work = WorkAttr::get(parser.getContext(), fields.layer, fields.phase,
                       fields.tile);
  return success();
}
void lwcc::train::printWork(AsmPrinter &printer, WorkAttr work) {
  printFields(printer, work);
}

Attribute WorkAttr::parse(AsmParser &parser, Type) {
  WorkAttr work;
  if (parser.parseLess() || parseWork(parser, work) || parser.parseGreater())
    return {};
  return work;
}
void WorkAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printFields(printer, *this);
  printer << '>';
}

Attribute TaskAttr::parse(AsmParser &parser, Type) {
  Fields fields;
  std::string group;
  if (parser.parseLess() || parseFields(parser, fields) ||
      (succeeded(parser.parseOptionalKeyword("in")) &&
       parser.parseString(&group)) ||
      parser.parseGreater())
    return {};
  return get(parser.getContext(), fields.layer, fields.phase, fields.tile,
             group);
}
void TaskAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printFields(printer, *this);
  if (!getGroup().empty()) {
    printer << " in ";
    printer.printString(getGroup());
  }
  printer << '>';
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

StringRef lwcc::train::roleName(Role role) {
  switch (role) {
  case Role::trainable:
    return "trainable";
  case Role::frozen:
    return "frozen";
  case Role::statistic:
    return "statistic";
  case Role::average:
    return "average";
  case Role::optimizer:
    return "optimizer";
  case Role::constant:
    return "constant";
  case Role::input:
    return "input";
  case Role::labels:
    return "labels";
  case Role::shares:
    return "shares";
  case Role::auxiliary:
    return "auxiliary";
  case Role::scalars:
    return "scalars";
  case Role::loss:
    return "loss";
  case Role::metric:
    return "metric";
  case Role::scores:
    return "scores";
  case Role::activation:
    return "activation";
  case Role::gradient:
    return "gradient";
  }
  llvm_unreachable("all roles covered");
}

ParseResult lwcc::train::parseRole(AsmParser &parser, RoleAttr &role) {
  StringRef word;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return failure();
  for (Role each : allRoles)
    if (word == roleName(each)) {
      role = RoleAttr::get(parser.getContext(), each);
      return success();
    }
  auto error = parser.emitError(loc, "expected the role of a tensor (");
  llvm::interleaveComma(llvm::map_range(allRoles, roleName), error);
  return error << "), found '" << word << "'";
}

void lwcc::train::printRole(AsmPrinter &printer, Operation *, RoleAttr role) {
  printer << roleName(role.getValue());
}

Attribute RoleAttr::parse(AsmParser &parser, Type) {
  RoleAttr role;
  if (parser.parseLess() || parseRole(parser, role) || parser.parseGreater())
    return {};
  return role;
}

void RoleAttr::print(AsmPrinter &printer) const {
  printer << '<' << roleName(getValue()) << '>';
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

static constexpr llvm::StringLiteral dimensionNames = "nchwk";

/// `<n 1 of 4 c 0 of 2>`
Attribute TileAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  SmallVector<int64_t> index(dimensionNames.size(), 0);
  SmallVector<int64_t> degrees(dimensionNames.size(), 1);
  while (failed(parser.parseOptionalGreater())) {
    StringRef name;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&name))
      return {};
    size_t dim = dimensionNames.find(name);
    if (name.size() != 1 || dim == StringRef::npos)
      return parser.emitError(loc, "expected one of n, c, h, w, k, found '")
                 << name << "'",
             Attribute();
    if (parser.parseInteger(index[dim]) || parser.parseKeyword("of") ||
        parser.parseInteger(degrees[dim]))
      return {};
  }
  return getChecked([&] { return parser.emitError(parser.getNameLoc()); },
                    parser.getContext(), index, degrees);
}

void TileAttr::print(AsmPrinter &printer) const {
  printer << '<';
  StringRef separator = "";
  for (auto [d, degree] : llvm::enumerate(getDegrees()))
    if (degree > 1) {
      printer << separator << dimensionNames[d] << ' ' << getIndex()[d]
              << " of " << degree;
      separator = " ";
    }
  printer << '>';
}

LogicalResult TileAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<int64_t> index,
                               ArrayRef<int64_t> degrees) {
  if (index.size() != dimensionNames.size() || degrees.size() != index.size())
    return emitError() << "a tile has a position along each of "
                       << dimensionNames;
  for (auto [i, degree] : llvm::zip_equal(index, degrees))
    if (i < 0 || i >= degree)
      return emitError() << "there is no tile " << i << " of " << degree;
  return success();
}

std::string TileAttr::letters() const {
  std::string letters;
  for (auto [letter, degree] : llvm::zip_equal(dimensionNames, getDegrees()))
    if (degree > 1)
      letters += letter;
  return letters;
}

std::string TileAttr::text() const {
  std::string text;
  for (auto [letter, i, degree] :
       llvm::zip_equal(dimensionNames, getIndex(), getDegrees()))
    if (degree > 1)
      text += letter + std::to_string(i);
  return text;
}

//===----------------------------------------------------------------------===//
// Initial values
//===----------------------------------------------------------------------===//

/// `<blob at 128>`, `<constant 0.0>`, `<normal 0.0, 0.02>`, `<uniform a, b>`.
Attribute InitAttr::parse(AsmParser &parser, Type) {
  StringRef kind;
  int64_t offset = 0;
  double a = 0, b = 0;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseKeyword(&kind))
    return {};
  if (kind == "blob") {
    if (parser.parseKeyword("at") || parser.parseInteger(offset))
      return {};
    if (offset < 0 || offset > maxBytes)
      return parser.emitError(loc, "no weights have a byte ") << offset,
             Attribute();
  } else if (kind == "constant") {
    if (parser.parseFloat(a))
      return {};
  } else if (kind == "normal" || kind == "uniform") {
    if (parser.parseFloat(a) || parser.parseComma() || parser.parseFloat(b))
      return {};
  } else {
    return parser.emitError(loc, "unknown kind of initial value '")
               << kind << "'",
           Attribute();
  }
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), kind, offset, APFloat(a), APFloat(b));
}

void InitAttr::print(AsmPrinter &printer) const {
  printer << '<' << getKind();
  if (getKind() == "blob") {
    printer << " at " << getOffset();
  } else {
    printer << ' ';
    printer.printFloat(getA());
    if (getKind() != "constant") {
      printer << ", ";
      printer.printFloat(getB());
    }
  }
  printer << '>';
}

//===----------------------------------------------------------------------===//
// Tilings
//===----------------------------------------------------------------------===//

LogicalResult TilingAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t n, int64_t c, int64_t h, int64_t w,
                                 int64_t k, ArrayRef<PlaceAttr> places,
                                 DictionaryAttr sizes) {
  int64_t tiles = 1;
  for (int64_t degree : {n, c, h, w, k})
    if (degree < 1 || llvm::MulOverflow(tiles, degree, tiles))
      return emitError() << "a tiling cuts into " << n << " x " << c << " x "
                         << h << " x " << w << " x " << k << " tiles";
  if (tiles != static_cast<int64_t>(places.size()))
    return emitError() << tiles << " tiles have " << places.size() << " places";
  const int64_t degrees[] = {n, c, h, w, k};
  for (NamedAttribute entry :
       sizes ? sizes.getValue() : ArrayRef<NamedAttribute>()) {
    size_t dim = dimensionNames.find(entry.getName().getValue());
    auto list = dyn_cast<DenseI64ArrayAttr>(entry.getValue());
    bool good = entry.getName().size() == 1 && dim != StringRef::npos && list &&
                list.size() == degrees[dim];
    for (int64_t sum = 0, i = 0; good && i < list.size(); sum += list[i++])
      good = list[i] > 0 && list[i] <= maxElements - sum;
    if (!good)
      return emitError() << "sizes of a tiling are not those of its parts: "
                         << entry.getName() << " = " << entry.getValue();
  }
  return success();
}
