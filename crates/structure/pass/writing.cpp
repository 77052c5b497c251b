// The record of a function, and of the module.

namespace {

// Numbers without the nodes that only pass on what another one says.
std::vector<unsigned> OfFunction::compact() {
  std::vector<unsigned> to(nodes.size());
  auto same = [&](unsigned n) {
    for (int i = 0; i < 256 && nodes[n].op == Mix && nodes[n].operands.size() == 1; i++)
      n = nodes[n].operands[0];
    return n;
  };
  // A choice between equal values is none: optimisation makes them of one.
  for (unsigned i = 1; i < nodes.size(); i++) {
    auto &ops = nodes[i].operands;
    unsigned all = nodes[i].alternatives;
    if (all < 2 || all >= ops.size())
      continue;
    bool equal = true;
    for (unsigned k = 1; k < all; k++)
      equal &= same(ops[k]) == same(ops[0]);
    if (equal)
      ops.resize(all);
  }
  for (unsigned i = 0; i < nodes.size(); i++) {
    to[i] = i;
    auto &ops = nodes[i].operands;
    if (nodes[i].op == Mix) {
      SmallVector<unsigned, 4> left;
      for (unsigned o : ops)
        if ((nodes[o].op != Const || nodes[o].a) && o != i && !is_contained(left, o))
          left.push_back(o);
      unsigned data = 0;
      for (unsigned k = 0; k < nodes[i].alternatives && k < ops.size(); k++)
        data = std::max<unsigned>(data, std::find(left.begin(), left.end(), ops[k]) != left.end() ? std::find(left.begin(), left.end(), ops[k]) - left.begin() + 1 : 0);
      // No data but constants: 0 would say that all of it is.
      if (nodes[i].alternatives && !data && !left.empty())
        left.insert(left.begin(), 0), data = 1;
      nodes[i].alternatives = data;
      ops.assign(left.begin(), left.end());
    }
  }
  for (unsigned i = 1; i < nodes.size(); i++) {
    unsigned at = i;
    for (int n = 0; n < 256 && nodes[at].op == Mix; n++) {
      if (nodes[at].operands.empty())
        at = 0;
      else if (nodes[at].operands.size() == 1 && !nodes[at].name)
        at = nodes[at].operands[0];
      else
        break;
      if (at == i)
        break;
    }
    to[i] = nodes[at].op == Const && !nodes[at].a ? 0 : at;
  }
  return to;
}

// Whether anything but a call uses a function's address, also by another name.
bool isTaken(const GlobalValue &f) {
  SmallVector<const Value *, 4> open{&f};
  SmallPtrSet<const Value *, 4> seen;
  while (!open.empty()) {
    const Value *v = open.pop_back_val();
    if (!seen.insert(v).second)
      continue;
    for (auto &use : v->uses()) {
      auto *c = dyn_cast<CallBase>(use.getUser());
      if (c && c->isCallee(&use))
        continue;
      if (!isa<GlobalAlias>(use.getUser()) && !isa<BlockAddress>(use.getUser()))
        return true;
      open.push_back(use.getUser());
    }
  }
  return false;
}

void OfFunction::write(Bytes &b) {
  std::vector<unsigned> to = compact();
  // Those that are still used, in their order.
  std::vector<unsigned> number(nodes.size(), 0), order{0}, open;
  std::vector<bool> used(nodes.size());
  auto need = [&](unsigned n) {
    n = to[n];
    if (!used[n])
      used[n] = true, open.push_back(n);
  };
  for (auto &v : vertices)
    for (unsigned c : v.conditions)
      need(c);
  for (auto &c : calls) {
    for (unsigned a : c.arguments)
      need(a);
    for (unsigned a : c.contents)
      need(a);
  }
  need(result);
  for (auto &o : outs)
    need(std::get<1>(o)), need(std::get<2>(o));
  for (auto &o : globalOuts)
    need(std::get<1>(o)), need(std::get<2>(o));
  while (!open.empty()) {
    unsigned n = open.back();
    open.pop_back();
    for (unsigned o : nodes[n].operands)
      need(o);
  }
  for (unsigned i = 1; i < nodes.size(); i++)
    if (used[i]) {
      number[i] = order.size();
      order.push_back(i);
    }
  auto id = [&](unsigned n) { return number[to[n]]; };
  auto offset = [](Bytes &to, Offset o) {
    to.u(o.mode);
    to.s(o.at);
  };
  auto *sub = f.getSubprogram();
  b.u(m.symbol(f));
  b.u(sub ? m.strings.id(sub->getName()) : 0);
  b.u(sub ? sub->getLine() : 0);
  b.u((f.hasLocalLinkage() ? 1 : 0) | (isTaken(f) ? 2 : 0) | (f.isInterposable() ? 4 : 0));
  b.u(1 + blocks + loops + branches + calls.size());
  b.u(f.arg_size());
  b.u(order.size());
  unsigned file = 0;
  for (unsigned i : order) {
    Node &n = nodes[i];
    unsigned fields = n.op;
    Bytes rest;
    auto field = [&](Field which, uint64_t value) {
      if (value)
        fields |= which, rest.u(value);
    };
    field(HasLine, n.line);
    if (n.file && n.file == file)
      fields |= SameFile;
    else
      field(OtherFile, n.file);
    file = n.file ? n.file : file;
    field(HasName, n.name);
    field(HasA, n.a);
    field(HasC, n.c);
    if (n.off.mode != At || n.off.at)
      fields |= HasOffset, offset(rest, n.off);
    field(HasAlternatives, n.alternatives);
    field(HasOperands, n.operands.size());
    // Most are near.
    for (unsigned o : n.operands)
      rest.s(int64_t(number[i]) - int64_t(id(o)));
    b.u(fields);
    b.out += rest.out;
  }
  b.u(vertices.size());
  for (auto &v : vertices) {
    b.u(v.kind);
    b.u(v.parent);
    b.u(v.place.file);
    b.u(v.place.line);
    b.u(v.last);
    b.u(v.place.scope);
    b.u(v.call);
    b.u(v.conditions.size());
    for (unsigned c : v.conditions)
      b.u(id(c));
  }
  b.u(calls.size());
  for (auto &c : calls) {
    Function *callee = calleeOf(*c.call);
    b.u(callee ? m.symbol(*callee) : 0);
    b.u(c.vertex);
    b.u(isQuiet(*c.call));
    b.u(c.arguments.size());
    for (unsigned k = 0; k < c.arguments.size(); k++) {
      b.u(id(c.arguments[k]));
      b.u(id(c.contents[k]));
      b.u(std::get<0>(c.bases[k]));
      b.u(std::get<1>(c.bases[k]));
      offset(b, std::get<2>(c.bases[k]));
    }
  }
  b.u(id(result));
  b.u(outs.size());
  for (auto &o : outs) {
    b.u(std::get<0>(o));
    b.u(id(std::get<1>(o)));
    b.u(id(std::get<2>(o)));
  }
  b.u(kept.size());
  for (unsigned k : kept)
    b.u(k);
  b.u(globalOuts.size());
  for (auto &o : globalOuts) {
    b.u(std::get<0>(o));
    b.u(id(std::get<1>(o)));
    b.u(id(std::get<2>(o)));
  }
}

// A global whose address is stored, or compared as a number, may be written by anybody.
void OfModule::escapes(GlobalVariable &g) {
  SmallVector<Value *, 8> open{&g};
  SmallPtrSet<Value *, 8> seen;
  while (!open.empty()) {
    Value *v = open.pop_back_val();
    if (!seen.insert(v).second)
      continue;
    for (auto &use : v->uses()) {
      User *u = use.getUser();
      if (isa<LoadInst>(u) || isa<ICmpInst>(u))
        continue;
      // A pointer that walks over it alone.
      auto *phi = dyn_cast<PHINode>(u);
      bool walks = phi != nullptr;
      if (phi)
        for (Value *in : phi->incoming_values()) {
          for (int n = 0; n < 16 && isa<GEPOperator>(in); n++)
            in = cast<GEPOperator>(in)->getPointerOperand();
          walks &= in == phi || in->stripPointerCasts() == &g;
        }
      if (auto *s = dyn_cast<StoreInst>(u)) {
        if (s->getPointerOperand() == v)
          continue;
      } else if (isa<GEPOperator>(u) || isa<BitCastOperator>(u) || walks) {
        open.push_back(u);
        continue;
      } else if (auto *c = dyn_cast<CallBase>(u)) {
        Function *callee = calleeOf(*c);
        // The reader knows of the functions in records whether they keep it.
        bool known = callee && !callee->isIntrinsic() && !isMpi(callee->getName());
        if (c->isArgOperand(&use) && (known || isa<MemIntrinsic>(c) || !mayKeep(*c, c->getArgOperandNo(&use))))
          continue;
      }
      escaping.insert(&g);
      return;
    }
  }
}

std::string OfModule::record() {
  for (auto &g : m.globals())
    if (!g.isConstant())
      escapes(g);
  Bytes functions;
  unsigned count = 0;
  for (auto &f : m) {
    if (f.isDeclaration() || f.hasAvailableExternallyLinkage())
      continue;
    DominatorTree &dt = fam.getResult<DominatorTreeAnalysis>(f);
    LoopInfo &li = fam.getResult<LoopAnalysis>(f);
    OfFunction of(*this, f, dt, li);
    of.run();
    of.write(functions);
    count++;
  }
  Bytes globals;
  unsigned many = 0;
  for (auto &g : m.globals()) {
    if (g.isConstant() || g.getName().empty())
      continue;
    globals.u(symbol(g));
    bool here = !g.isDeclaration() && !g.hasAvailableExternallyLinkage();
    globals.u((g.hasLocalLinkage() ? 1 : 0) | (escaping.count(&g) ? 2 : 0) | (here ? 4 : 0));
    many++;
  }
  Bytes taken, aliases;
  unsigned manyTaken = 0, manyAliases = 0;
  for (auto &f : m)
    if (!f.hasLocalLinkage() && !f.isIntrinsic() && isTaken(f))
      taken.u(symbol(f)), manyTaken++;
  for (auto &a : m.aliases())
    if (auto *of = dyn_cast_or_null<Function>(a.getAliaseeObject())) {
      aliases.u(symbol(a)), aliases.u(symbol(*of)), manyAliases++;
      if (isTaken(a))
        taken.u(symbol(*of)), manyTaken++;
    }
  unsigned source = strings.id(m.getSourceFileName());
  unsigned maker = strings.id("LLVM " LLVM_VERSION_STRING);
  Bytes out;
  out.u(strings.all.size());
  for (auto &s : strings.all) {
    out.u(s.size());
    out.out += s;
  }
  out.u(source);
  out.u(maker);
  out.u(many);
  out.out += globals.out;
  out.u(manyTaken);
  out.out += taken.out;
  out.u(manyAliases);
  out.out += aliases.out;
  out.u(count);
  out.out += functions.out;
  return out.out;
}

} // namespace
