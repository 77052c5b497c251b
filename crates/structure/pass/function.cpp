// What the pass knows about one function, and the simplest parts of it: names, places, nodes.

namespace {

struct Place {
  unsigned file = 0, line = 0, scope = 0;
};

class OfModule;
bool isObject(Value *v);

// A memory object as far as one function sees it, and who writes it there.
struct Object {
  Value *base = nullptr;
  bool escapes = false;
  struct Writer {
    Instruction *at;
    unsigned argument; // of a call
    Offset off;
    uint64_t size;
    bool barrier; // a call that may write it though it is not an argument
    bool alias = false; // through another parameter, which may point to the same
    Argument *through = nullptr; // a parameter, which may point to this global
    bool elsewhere = false; // if this parameter points to what others can write
  };
  unsigned number = 0;
  // Calls that may keep its address.
  std::vector<std::pair<CallBase *, unsigned>> keepers;
  DenseMap<BasicBlock *, std::vector<Writer>> writers; // each in the order of the block
};

// An instruction that may write through pointers: what these point into.
struct Access {
  Instruction *at;
  SmallVector<Argument *, 2> parameters;
  bool global = false;  // one that is not constant
  bool outside = false; // a function that may write what it is not given
};

class OfFunction {
public:
  OfFunction(OfModule &m, Function &f, DominatorTree &dt, LoopInfo &li);
  void run();
  void write(Bytes &b);

private:
  OfModule &m;
  Function &f;
  DominatorTree &dt;
  LoopInfo &li;
  const DataLayout &dl;

  std::deque<Node> nodes; // which are not moved when there are more
  // What is yet to be found out, and the node that it is about; none for a call.
  std::vector<std::pair<unsigned, std::function<void()>>> pending;
  // The node in place of all that are too many; none yet if it is 0.
  unsigned tooMany = 0;
  size_t allOperands = 0;
  DenseMap<const Value *, unsigned> values;
  DenseMap<const Loop *, unsigned> exits;
  DenseMap<std::pair<Value *, int64_t>, unsigned> names;
  std::map<Value *, Object> objects;
  // In the order of the code: what may write, and the calls that may write globals; found once for all objects.
  bool looked = false;
  std::vector<Access> accesses;
  std::vector<CallBase *> writingCalls;
  // State of so many of an object's bytes before an instruction: who wrote them depends on how many they are.
  std::map<std::tuple<Value *, Offset, uint64_t, Instruction *>, unsigned> states;
  DenseMap<std::pair<Value *, unsigned>, unsigned> lanes; // of vectors, by element

  struct Call {
    CallBase *call;
    unsigned vertex;
    SmallVector<unsigned, 6> arguments, contents;
    SmallVector<std::tuple<unsigned, uint64_t, Offset>, 6> bases;
  };
  std::vector<Call> calls;
  DenseMap<const CallBase *, unsigned> callNumbers;

  struct Vertex {
    VertexKind kind;
    unsigned parent; // plus one
    Place place;
    unsigned last;
    uint64_t call;
    SmallVector<unsigned, 4> conditions;
  };
  std::vector<Vertex> vertices;
  DenseMap<const Loop *, unsigned> loopVertices;
  DenseMap<const BasicBlock *, unsigned> branchVertices;
  std::map<std::tuple<unsigned, unsigned, unsigned, unsigned>, unsigned> loopsByLine;

  unsigned result = 0;
  std::vector<std::tuple<unsigned, unsigned, unsigned>> outs;
  std::map<std::tuple<Op, uint64_t, uint64_t, Offset>, unsigned> alone; // nodes that are the same everywhere
  std::map<std::vector<BasicBlock *>, unsigned> joinedVertices;
  std::map<const Loop *, Control> inLoops;
  Control control;
  std::vector<unsigned> kept; // numbers of parameters whose address is kept somewhere
  std::vector<std::tuple<unsigned, unsigned, unsigned>> globalOuts;
  DenseMap<const BasicBlock *, unsigned> blockNumbers;
  DenseMap<const BasicBlock *, BitVector> behind; // blocks that may run after a block
  size_t blocks = 0, branches = 0, loops = 0, after = 0;

  unsigned add(Node n);
  void give(unsigned id, ArrayRef<unsigned> more);
  unsigned unknown(Reason r, const Instruction *at);
  Place placeOf(const DebugLoc &loc);
  unsigned nameOf(Value *v, int64_t offset);
  unsigned findName(Value *v, int64_t offset);
  unsigned value(Value *v);
  unsigned address();
  unsigned only(Op op, uint64_t a, uint64_t c, Offset off);
  void leave(SmallVectorImpl<unsigned> &to, const BasicBlock *from, const BasicBlock *user);
  unsigned exitNode(Loop *l);
  void fill(unsigned node, Instruction *i);
  void controls(SmallVectorImpl<unsigned> &to, BasicBlock *from, BasicBlock *until, BasicBlock *user, const Loop *within,
                bool own);
  unsigned condition(BasicBlock *b);
  unsigned branchVertex(BasicBlock *at);
  const Control &inLoop(const Loop *l);
  std::pair<Value *, Offset> baseOf(Value *pointer);
  Object &object(Value *base);
  void look();
  void collect(Object &o, Value *pointer, Offset off, SmallPtrSetImpl<Value *> &seen);
  bool mayReach(Instruction *a, Instruction *b);
  unsigned load(LoadInst *l);
  unsigned memory(Object &o, Offset off, uint64_t size, Instruction *before);
  unsigned written(Object &o, const Object::Writer &w, Offset off, uint64_t size, BasicBlock *user);
  unsigned lane(Value *v, unsigned k, int depth);
  unsigned findLane(Value *v, unsigned k, int depth);
  unsigned either(unsigned a, unsigned b);
  bool isOneVariable(PHINode &phi);
  unsigned atEntry(Object &o, Offset off);
  unsigned parentOf(BasicBlock *b, const Loop *except);
  unsigned loopVertex(Loop *l);
  void callSite(CallBase &c);
  void drain();
  std::vector<unsigned> compact();
};

class OfModule {
public:
  OfModule(Module &m, FunctionAnalysisManager &fam) : m(m), fam(fam) {}
  std::string record();

  Module &m;
  FunctionAnalysisManager &fam;
  Strings strings;
  SmallPtrSet<GlobalVariable *, 16> escaping;

  unsigned file(const DIScope &scope);
  unsigned scope(const DISubprogram &sub);
  unsigned symbol(const GlobalValue &g) { return strings.id(GlobalValue::dropLLVMManglingEscape(g.getName())); }

private:
  DenseMap<const DIScope *, unsigned> files;
  DenseMap<const DISubprogram *, unsigned> scopes;
  void escapes(GlobalVariable &g);
};

// Number of the path of a scope's file.
unsigned OfModule::file(const DIScope &scope) {
  auto put = files.try_emplace(&scope, 0);
  if (put.second) {
    std::string path = scope.getFilename().str();
    if (!path.empty() && path[0] != '/' && !scope.getDirectory().empty())
      path = scope.getDirectory().str() + "/" + path;
    put.first->second = strings.id(path);
  }
  return put.first->second;
}

unsigned OfModule::scope(const DISubprogram &sub) {
  auto put = scopes.try_emplace(&sub, 0);
  if (put.second)
    put.first->second = strings.id(sub.getLinkageName().empty() ? sub.getName() : sub.getLinkageName());
  return put.first->second;
}

OfFunction::OfFunction(OfModule &m, Function &f, DominatorTree &dt, LoopInfo &li)
    : m(m), f(f), dt(dt), li(li), dl(f.getParent()->getDataLayout()), control(f, dt) {
  nodes.emplace_back();
  nodes[0].op = Const;
  for (auto &b : f)
    blockNumbers.try_emplace(&b, blockNumbers.size());
}

unsigned OfFunction::add(Node n) {
  if (tooMany)
    return tooMany;
  allOperands += n.operands.size();
  bool fits = nodes.size() < MostNodes && allOperands < MostOperands;
  nodes.push_back(fits ? n : Node());
  if (!fits) {
    tooMany = nodes.size() - 1;
    nodes[tooMany].op = Unknown;
    nodes[tooMany].a = TooLarge;
  }
  return nodes.size() - 1;
}

// More operands of a node.
void OfFunction::give(unsigned id, ArrayRef<unsigned> more) {
  allOperands += more.size();
  nodes[id].operands.append(more.begin(), more.end());
}

unsigned OfFunction::unknown(Reason r, const Instruction *at) {
  Node n;
  n.op = Unknown;
  n.a = r;
  if (at) {
    Place p = placeOf(at->getDebugLoc());
    n.file = p.file, n.line = p.line;
  }
  return add(n);
}

Place OfFunction::placeOf(const DebugLoc &loc) {
  Place p;
  if (!loc)
    return p;
  p.line = loc.getLine();
  if (auto *scope = dyn_cast_or_null<DIScope>(loc.getScope()))
    p.file = m.file(*scope);
  if (loc.getInlinedAt())
    if (auto *sub = getDISubprogram(loc.getScope()))
      p.scope = m.scope(*sub);
  return p;
}

// `name`, or `name.member` for a byte within a structure.
std::string withMember(StringRef name, const DIType *type, int64_t offset) {
  std::string out = name.str();
  for (int depth = 0; type && depth < 8; depth++) {
    if (auto *derived = dyn_cast<DIDerivedType>(type)) {
      if (derived->getTag() == dwarf::DW_TAG_pointer_type && depth > 0)
        break;
      type = derived->getBaseType();
      continue;
    }
    auto *composite = dyn_cast<DICompositeType>(type);
    if (!composite || composite->getTag() == dwarf::DW_TAG_array_type)
      break;
    const DIDerivedType *found = nullptr;
    for (auto *element : composite->getElements()) {
      auto *member = dyn_cast_or_null<DIDerivedType>(element);
      if (member && member->getTag() == dwarf::DW_TAG_member && int64_t(member->getOffsetInBits() / 8) <= offset)
        if (!found || member->getOffsetInBits() > found->getOffsetInBits())
          found = member;
    }
    if (!found)
      break;
    out += "." + found->getName().str();
    offset -= found->getOffsetInBits() / 8;
    type = found->getBaseType();
  }
  return out;
}

// The variable of the source that a value, or an object at an offset, belongs to.
unsigned OfFunction::nameOf(Value *v, int64_t offset) {
  auto put = names.try_emplace({v, offset}, 0);
  return put.second ? put.first->second = findName(v, offset) : put.first->second;
}

unsigned OfFunction::findName(Value *v, int64_t offset) {
  if (auto *g = dyn_cast<GlobalVariable>(v)) {
    SmallVector<DIGlobalVariableExpression *, 1> all;
    g->getDebugInfo(all);
    for (auto *e : all)
      return m.strings.id(withMember(e->getVariable()->getName(), e->getVariable()->getType(), offset));
    return m.strings.id(g->getName());
  }
  if (isa<Constant>(v))
    return 0;
  // Those of the function itself before those of functions that were inlined.
  std::tuple<bool, unsigned, std::string> best{true, ~0u, ""};
  auto take = [&](DILocalVariable *var, const DebugLoc &loc) {
    if (var && !var->getName().empty() && !var->isArtificial())
      best = std::min(best, {loc && loc.getInlinedAt(), var->getLine(), withMember(var->getName(), isa<AllocaInst>(v) || v->getType()->isPointerTy() ? var->getType() : nullptr, offset)});
  };
  if (v->isUsedByMetadata()) {
#if LLVM_VERSION_MAJOR >= 21
    SmallVector<DbgVariableRecord *, 4> records;
    findDbgUsers(v, records);
    for (auto *r : records)
      take(r->getVariable(), r->getDebugLoc());
#elif LLVM_VERSION_MAJOR >= 19
    SmallVector<DbgVariableIntrinsic *, 4> users;
    SmallVector<DbgVariableRecord *, 4> records;
    findDbgUsers(users, v, &records);
    for (auto *u : users)
      take(u->getVariable(), u->getDebugLoc());
    for (auto *r : records)
      take(r->getVariable(), r->getDebugLoc());
#else
    SmallVector<DbgVariableIntrinsic *, 4> users;
    findDbgUsers(users, v);
    for (auto *u : users)
      take(u->getVariable(), u->getDebugLoc());
#endif
  }
  return m.strings.id(std::get<2>(best));
}

unsigned OfFunction::only(Op op, uint64_t a, uint64_t c, Offset off) {
  auto put = alone.try_emplace({op, a, c, off}, 0);
  if (put.second) {
    Node n;
    n.op = op, n.a = a, n.c = c, n.off = off;
    put.first->second = add(n);
  }
  return put.first->second;
}

unsigned OfFunction::address() { return only(Const, 1, 0, {At, 0}); }

} // namespace
