// What is in memory at a place: who wrote it.

namespace {

// The object that a pointer points into, or what it was made from.
std::pair<Value *, Offset> OfFunction::baseOf(Value *p) {
  Offset off{At, 0};
  for (int i = 0; i < 64; i++) {
    APInt by(dl.getIndexTypeSizeInBits(p->getType()), 0);
    Value *next = p->stripAndAccumulateConstantOffsets(dl, by, true);
    if (off.mode == At)
      off.at += by.getSExtValue();
    if (auto *gep = dyn_cast<GEPOperator>(next)) {
      off = {Anywhere, 0};
      p = gep->getPointerOperand();
      continue;
    }
    // A pointer that is kept in a local variable, and set there once.
    if (auto *l = dyn_cast<LoadInst>(next)) {
      auto *slot = dyn_cast<AllocaInst>(l->getPointerOperand()->stripPointerCasts());
      Value *only = nullptr;
      bool plain = slot != nullptr;
      if (slot)
        for (auto *u : slot->users()) {
          auto *s = dyn_cast<StoreInst>(u);
          if (s && s->getPointerOperand() == slot && !only)
            only = s->getValueOperand();
          else if (!isa<LoadInst>(u) && !isIgnored(*cast<Instruction>(u)))
            plain = false;
          else if (s)
            plain = false;
        }
      if (plain && only && only != l) {
        p = only;
        continue;
      }
    }
    return {next, off};
  }
  return {p, {Anywhere, 0}};
}

bool isObject(Value *v) {
  if (isa<AllocaInst>(v) || isa<GlobalVariable>(v))
    return true;
  if (auto *a = dyn_cast<Argument>(v))
    return a->getType()->isPointerTy();
  auto *c = dyn_cast<CallBase>(v);
  return c && c->returnDoesNotAlias();
}

void OfFunction::collect(Object &o, Value *pointer, Offset off, SmallPtrSetImpl<Value *> &seen) {
  if (!seen.insert(pointer).second)
    return;
  auto writer = [&](Instruction *at, unsigned argument, Offset where, uint64_t size) {
    o.writers[at->getParent()].push_back({at, argument, where, size, false});
  };
  for (auto &use : pointer->uses()) {
    User *u = use.getUser();
    if (auto *ce = dyn_cast<ConstantExpr>(u)) {
      APInt by(dl.getIndexTypeSizeInBits(ce->getType()->isPointerTy() ? ce->getType() : pointer->getType()), 0);
      if (!ce->getType()->isPointerTy()) {
        o.escapes = true;
        continue;
      }
      ce->stripAndAccumulateConstantOffsets(dl, by, true);
      collect(o, ce, {off.mode, by.getSExtValue()}, seen);
      continue;
    }
    auto *i = dyn_cast<Instruction>(u);
    if (!i || i->getFunction() != &f) {
      if (!isa<GlobalVariable>(o.base))
        o.escapes = true;
      continue;
    }
    if (isIgnored(*i) || isa<LoadInst>(i) || isa<ICmpInst>(i))
      continue;
    if (auto *s = dyn_cast<StoreInst>(i)) {
      if (s->getPointerOperand() == pointer) {
        uint64_t size = dl.getTypeStoreSize(s->getValueOperand()->getType()).getKnownMinValue();
        writer(s, 0, off, size);
        continue;
      }
      // A parameter's pointer that is spilled into a variable of its own.
      auto *slot = dyn_cast<AllocaInst>(s->getPointerOperand()->stripPointerCasts());
      bool spilled = slot != nullptr;
      if (slot)
        for (auto *w : slot->users())
          spilled &= w == s || isa<LoadInst>(w) || isIgnored(*cast<Instruction>(w));
      if (!spilled)
        o.escapes = true;
      else
        for (auto *w : slot->users())
          if (isa<LoadInst>(w))
            collect(o, w, off, seen);
      continue;
    }
    if (auto *gep = dyn_cast<GetElementPtrInst>(i)) {
      APInt by(dl.getIndexTypeSizeInBits(gep->getType()), 0);
      if (gep->accumulateConstantOffset(dl, by) && off.mode == At)
        collect(o, gep, {At, off.at + by.getSExtValue()}, seen);
      else
        collect(o, gep, {Anywhere, 0}, seen);
      continue;
    }
    if (isa<BitCastInst>(i) || isa<AddrSpaceCastInst>(i)) {
      collect(o, i, off, seen);
      continue;
    }
    if (auto *c = dyn_cast<CallBase>(i)) {
      if (!c->isArgOperand(&use)) {
        o.escapes |= !c->isCallee(&use);
        continue;
      }
      unsigned k = c->getArgOperandNo(&use);
      if (auto *mi = dyn_cast<MemIntrinsic>(c)) {
        if (k == 0) {
          auto *length = dyn_cast<ConstantInt>(mi->getLength());
          writer(c, 0, length ? off : Offset{Anywhere, 0}, length ? length->getZExtValue() : 0);
        }
        continue;
      }
      Function *callee = calleeOf(*c);
      if (mayKeep(*c, k)) {
        if (!callee || callee->isIntrinsic() || isMpi(callee->getName()))
          o.escapes = true;
        else
          o.keepers.push_back({c, k});
      }
      if (c->onlyReadsMemory() || c->onlyReadsMemory(k) || c->doesNotAccessMemory())
        continue;
      if (callee && callee->getName() == "free")
        continue;
      writer(c, k, off, 0);
      continue;
    }
    // Moved on with a loop, for walking over an array: where it points to is not known, but what into is.
    if (auto *phi = dyn_cast<PHINode>(i)) {
      bool same = true;
      for (auto &in : phi->incoming_values()) {
        Value *at = in.get();
        for (int n = 0; n < 8; n++) {
          if (auto *g = dyn_cast<GEPOperator>(at))
            at = g->getPointerOperand();
        }
        same &= at == phi || baseOf(in.get()).first == o.base;
      }
      if (same) {
        collect(o, phi, {Anywhere, 0}, seen);
        continue;
      }
    }
    o.escapes = true;
  }
}

// What a parameter points to, in the words of the source; null if that is not known.
const DIType *pointee(const Argument &a) {
  auto *sub = a.getParent()->getSubprogram();
  auto types = sub && sub->getType() ? sub->getType()->getTypeArray() : DITypeRefArray();
  // The first one is what the function returns. Where arguments were added or left out, nothing is known.
  if (!types || types.size() != a.getParent()->arg_size() + 1)
    return nullptr;
  bool through = false;
  const DIType *at = types[a.getArgNo() + 1];
  while (auto *derived = dyn_cast_or_null<DIDerivedType>(at)) {
    auto tag = derived->getTag();
    bool pointer = tag == dwarf::DW_TAG_pointer_type || tag == dwarf::DW_TAG_reference_type;
    if (pointer && through)
      return at;
    through |= pointer;
    at = derived->getBaseType();
  }
  return at;
}

bool isFortran(const Function &f) {
  auto *sub = f.getSubprogram();
  StringRef file = sub ? sub->getFilename() : "";
  return file.contains_insensitive(".f");
}

// Whether two parameters may point to the same: not in Fortran, and not if their types differ. Bytes may be anything.
bool mayAlias(const Argument &a, const Argument &b) {
  if (a.hasNoAliasAttr() || b.hasNoAliasAttr() || isFortran(*a.getParent()))
    return false;
  const DIType *of[] = {pointee(a), pointee(b)};
  for (auto *one : of) {
    auto *basic = dyn_cast_or_null<DIBasicType>(one);
    if (!one || (basic && basic->getSizeInBits() == 8))
      return true;
  }
  auto *x = dyn_cast<DIBasicType>(of[0]), *y = dyn_cast<DIBasicType>(of[1]);
  return x && y ? x->getSizeInBits() == y->getSizeInBits() && x->getEncoding() == y->getEncoding() : of[0] == of[1];
}

Object &OfFunction::object(Value *base) {
  auto put = objects.try_emplace(base);
  Object &o = put.first->second;
  if (!put.second)
    return o;
  o.base = base;
  o.number = objects.size();
  SmallPtrSet<Value *, 16> seen;
  collect(o, base, {At, 0}, seen);
  if (auto *g = dyn_cast<GlobalVariable>(base)) {
    o.escapes = m.escaping.count(g);
    if (!g->isConstant())
      for (auto &i : instructions(f)) {
        auto *c = dyn_cast<CallBase>(&i);
        if (!c || isQuiet(*c) || c->onlyReadsMemory() || c->doesNotAccessMemory())
          continue;
        auto &here = o.writers[i.getParent()];
        bool given = false;
        for (auto &w : here)
          if (w.at == c)
            given = w.barrier = true;
        if (!given)
          here.push_back({c, NoArgument, {Anywhere, 0}, 0, true});
      }
    // A parameter may point to it; Fortran forbids to use both.
    if (!g->isConstant() && !isFortran(f))
      for (auto &i : instructions(f)) {
        if (isIgnored(i))
          continue;
        Argument *through = nullptr;
        auto take = [&](Value *pointer) {
          auto *a = dyn_cast<Argument>(baseOf(pointer).first);
          if (a && !a->hasNoAliasAttr())
            through = a;
        };
        if (auto *s = dyn_cast<StoreInst>(&i))
          take(s->getPointerOperand());
        else if (auto *c = dyn_cast<CallBase>(&i); c && !c->onlyReadsMemory())
          for (auto &a : c->args())
            if (a->getType()->isPointerTy() && !c->onlyReadsMemory(c->getArgOperandNo(&a)))
              take(a.get());
        auto &here = o.writers[i.getParent()];
        if (through && none_of(here, [&](auto &w) { return w.at == &i; }))
          here.push_back({&i, NoArgument, {Anywhere, 0}, 0, false, false, through});
      }
  }
  if (auto *own = dyn_cast<Argument>(base)) {
    Argument *through = nullptr;
    bool elsewhere = false;
    auto aliases = [&](Value *pointer) {
      Value *base = baseOf(pointer).first;
      auto *other = dyn_cast<Argument>(base);
      if (other && other != own && mayAlias(*own, *other))
        through = other;
      auto *g = dyn_cast<GlobalVariable>(base);
      elsewhere |= g && !g->isConstant();
    };
    bool free = own->hasNoAliasAttr() || isFortran(f);
    for (auto &i : instructions(f)) {
      if (free || isIgnored(i))
        continue;
      through = nullptr, elsewhere = false;
      if (auto *s = dyn_cast<StoreInst>(&i)) {
        aliases(s->getPointerOperand());
      } else if (auto *c = dyn_cast<CallBase>(&i); c && !c->onlyReadsMemory()) {
        for (auto &a : c->args())
          if (a->getType()->isPointerTy() && !c->onlyReadsMemory(c->getArgOperandNo(&a)))
            aliases(a.get());
        Function *callee = calleeOf(*c);
        elsewhere |= !isa<IntrinsicInst>(c) && !(callee && callee->isDeclaration() && isHarmless(callee->getName()));
      }
      if (!through && !elsewhere)
        continue;
      auto &here = o.writers[i.getParent()];
      bool known = false;
      for (auto &w : here)
        if (w.at == &i) {
          w.elsewhere |= elsewhere;
          w.through = w.through ? w.through : through;
          known = true;
        }
      if (!known)
        here.push_back({&i, NoArgument, {Anywhere, 0}, 0, false, through != nullptr, through, elsewhere});
    }
  }
  for (auto &block : o.writers)
    std::stable_sort(block.second.begin(), block.second.end(), [](const auto &a, const auto &b) {
      return a.at != b.at && a.at->comesBefore(b.at);
    });
  return o;
}

unsigned OfFunction::load(LoadInst *l) {
  auto [base, off] = baseOf(l->getPointerOperand());
  if (!isObject(base)) {
    // What a pointer from elsewhere points to: at best as the pointer itself.
    unsigned pointer = value(base);
    Node n;
    n.op = Unknown;
    n.a = ThroughPointer;
    n.operands.push_back(pointer);
    return add(n);
  }
  uint64_t size = dl.getTypeStoreSize(l->getType()).getKnownMinValue();
  Node n;
  n.name = nameOf(base, off.mode == At ? off.at : 0);
  Place p = placeOf(l->getDebugLoc());
  n.file = p.file, n.line = p.line;
  n.operands.push_back(memory(object(base), off, size, l));
  return add(n);
}

unsigned OfFunction::atEntry(Object &o, Offset off) {
  Node n;
  n.off = off;
  if (auto *a = dyn_cast<Argument>(o.base)) {
    n.op = Entry;
    n.a = a->getArgNo();
  } else if (auto *g = dyn_cast<GlobalVariable>(o.base)) {
    if (g->isConstant() && g->hasDefinitiveInitializer())
      return 0;
    n.op = Global;
    n.a = m.symbol(*g);
    n.name = nameOf(g, off.mode == At ? off.at : 0);
  } else {
    auto *c = dyn_cast<CallBase>(o.base);
    if (!c)
      return 0;
    Function *callee = calleeOf(*c);
    if (callee && isAllocator(callee->getName()))
      return 0;
    return unknown(ThroughPointer, c);
  }
  return add(n);
}

bool overlaps(Offset a, uint64_t as, Offset b, uint64_t bs) {
  if (a.mode != At || b.mode != At)
    return true;
  return a.at < b.at + int64_t(bs ? bs : 1) && b.at < a.at + int64_t(as ? as : 1);
}

// What is in an object at an offset before an instruction; everybody who may have written it last.
// Whether one instruction may run before another one. Many questions are about the same blocks, so each block's answer is
// found once.
bool OfFunction::mayReach(Instruction *a, Instruction *b) {
  BasicBlock *from = a->getParent(), *to = b->getParent();
  if (from == to && (a == b || a->comesBefore(b)))
    return true;
  if (f.size() > MostBlocks)
    return isPotentiallyReachable(a, b, nullptr, &dt, &li);
  BitVector &seen = behind[from];
  if (seen.empty()) {
    seen.resize(blockNumbers.size());
    SmallVector<BasicBlock *, 16> open{from};
    while (!open.empty())
      for (auto *next : successors(open.pop_back_val())) {
        unsigned n = blockNumbers.lookup(next);
        if (!seen.test(n)) {
          seen.set(n);
          open.push_back(next);
        }
      }
  }
  return seen.test(blockNumbers.lookup(to));
}

unsigned OfFunction::memory(Object &o, Offset off, uint64_t size, Instruction *before) {
  // What the program is given stays what it is given, whoever has its address.
  if (isa<Argument>(o.base) && f.getName() == "main")
    return atEntry(o, off);
  if (o.escapes && !isa<GlobalVariable>(o.base))
    return unknown(Escapes, before);
  auto key = std::make_tuple(o.base, off, before);
  auto known = states.find(key);
  if (known != states.end())
    return known->second;
  unsigned id = states[key] = add(Node());
  Object *object = &o;
  pending.push_back([this, id, object, off, size, before] {
    Object &o = *object;
    auto concerns = [&](const Object::Writer &w) {
      return w.barrier || isa<CallBase>(w.at) || overlaps(w.off, w.size, off, size);
    };
    BasicBlock *user = before->getParent();
    BitVector seen(blockNumbers.size());
    SmallVector<std::pair<BasicBlock *, bool>, 16> open{{user, true}};
    SmallVector<unsigned, 8> found;
    if (auto *g = dyn_cast<GlobalVariable>(o.base); g && !g->isConstant())
      found.push_back(only(Open, m.symbol(*g), 0, {At, 0}));
    else
      for (auto [c, k] : o.keepers) {
        callSite(*c);
        if (mayReach(c, before))
          found.push_back(only(Kept, callNumbers[c], k, {At, 0}));
      }
    bool entry = false;
    size_t steps = 0;
    while (!open.empty()) {
      auto [b, first] = open.pop_back_val();
      const Object::Writer *last = nullptr;
      SmallVector<const Object::Writer *, 4> same;
      auto ws = o.writers.find(b);
      if (ws != o.writers.end())
        for (auto &w : ws->second)
          if (concerns(w) && (!first || w.at->comesBefore(before))) {
            if (last && last->at != w.at)
              same.clear();
            last = &w;
            same.push_back(last);
          }
      if (last) {
        // A call that is given several parts of it: nobody writes before what he is given.
        auto within = [&](const Object::Writer *w) {
          return w->off.mode != At || off.mode != At || w->off.at <= off.at;
        };
        if (same.size() > 1 && any_of(same, within))
          erase_if(same, [&](auto *w) { return !within(w); });
        for (auto *w : same)
          found.push_back(written(o, *w, off, size, user));
        continue;
      }
      if (++steps > MostBlocks) {
        found.push_back(unknown(TooLarge, before));
        break;
      }
      entry |= b == &f.getEntryBlock();
      for (auto *p : predecessors(b))
        if (unsigned n = blockNumbers.lookup(p); !seen.test(n)) {
          seen.set(n);
          open.push_back({p, false});
        }
    }
    if (entry)
      found.push_back(atEntry(o, off));
    nodes[id].operands.append(found.begin(), found.end());
  });
  return id;
}

// One element of a vector: optimisation stores neighbours that have nothing in common at once.
unsigned OfFunction::lane(Value *v, unsigned k, int depth) {
  Node n;
  auto both = [&](unsigned a, unsigned b) {
    n.operands.push_back(a);
    n.operands.push_back(b);
    return add(n);
  };
  if (isa<Constant>(v))
    return 0;
  if (depth < 16) {
    if (auto *in = dyn_cast<InsertElementInst>(v))
      if (auto *at = dyn_cast<ConstantInt>(in->getOperand(2)))
        return at->getZExtValue() == k ? value(in->getOperand(1)) : lane(in->getOperand(0), k, depth + 1);
    if (auto *shuffle = dyn_cast<ShuffleVectorInst>(v)) {
      int from = shuffle->getMaskValue(k);
      int first = cast<VectorType>(shuffle->getOperand(0)->getType())->getElementCount().getKnownMinValue();
      return from < 0 ? 0 : lane(shuffle->getOperand(from >= first), from >= first ? from - first : from, depth + 1);
    }
    if (auto *op = dyn_cast<BinaryOperator>(v))
      return both(lane(op->getOperand(0), k, depth + 1), lane(op->getOperand(1), k, depth + 1));
    auto *load = dyn_cast<LoadInst>(v);
    auto [base, at] = load ? baseOf(load->getPointerOperand()) : std::pair<Value *, Offset>(nullptr, {Anywhere, 0});
    if (base && isObject(base) && at.mode == At) {
      uint64_t size = dl.getTypeStoreSize(v->getType()->getScalarType()).getKnownMinValue();
      return memory(object(base), {At, at.at + int64_t(k * size)}, size, load);
    }
  }
  return both(value(v), unknown(Other, dyn_cast<Instruction>(v)));
}

unsigned OfFunction::written(Object &o, const Object::Writer &w, Offset off, uint64_t size, BasicBlock *user) {
  Node n;
  Place p = placeOf(w.at->getDebugLoc());
  n.file = p.file, n.line = p.line;
  SmallVector<unsigned, 4> why;
  BasicBlock *here = w.at->getParent();
  if (here != user)
    if (auto *common = dt.findNearestCommonDominator(here, user))
      controls(why, here, common, user, nullptr, false);
  // How often a loop ran decides what it left, if it wrote the byte at hand.
  leave(why, here, user);
  SmallVector<unsigned, 2> others;
  if (w.through) {
    if (auto *g = dyn_cast<GlobalVariable>(o.base))
      others.push_back(only(MayPoint, w.through->getArgNo(), m.symbol(*g), {At, 0}));
    else
      others.push_back(only(MayAlias, w.through->getArgNo(), cast<Argument>(o.base)->getArgNo(), {At, 0}));
  }
  if (w.elsewhere)
    others.push_back(only(Points, cast<Argument>(o.base)->getArgNo(), 0, off));
  if (w.argument == NoArgument && !others.empty()) {
    Node both;
    both.operands.append(others.begin(), others.end());
    both.operands.push_back(memory(o, off, size, w.at));
    return add(both);
  }
  // Any function may write a global: the reader knows what this one does.
  if (w.barrier && w.argument == NoArgument) {
    if (after++ >= MostAfter)
      return atEntry(o, off);
    auto *c = cast<CallBase>(w.at);
    callSite(*c);
    n.op = After;
    n.a = callNumbers[c];
    n.c = m.symbol(*cast<GlobalVariable>(o.base));
    n.off = off;
    n.name = nameOf(o.base, off.mode == At ? off.at : 0);
    n.operands.push_back(memory(o, off, size, c));
    n.operands.append(why.begin(), why.end());
    return add(n);
  }
  if (auto *c = dyn_cast<CallBase>(w.at); c && !isa<MemIntrinsic>(c)) {
    callSite(*c);
    n.op = Out;
    n.a = callNumbers[c];
    n.c = w.argument;
    n.off = off;
    if (w.off.mode != At)
      n.off = {Anywhere, 0};
    else if (off.mode == Asked)
      n.off.at = w.off.at;
    else
      n.off.at = off.at - w.off.at;
    n.name = nameOf(o.base, off.mode == At ? off.at : 0);
    n.operands.push_back(memory(o, off, size, w.at));
    n.operands.append(why.begin(), why.end());
    if (!w.barrier && others.empty())
      return add(n);
    Node both;
    both.operands.push_back(add(n));
    if (w.barrier)
      both.operands.push_back(atEntry(o, off));
    both.operands.append(others.begin(), others.end());
    return add(both);
  }
  unsigned what = 0;
  if (auto *s = dyn_cast<StoreInst>(w.at)) {
    auto *type = dyn_cast<FixedVectorType>(s->getValueOperand()->getType());
    int64_t each = type ? dl.getTypeStoreSize(type->getElementType()).getKnownMinValue() : 0;
    if (type && w.off.mode == At && off.mode != Anywhere && each > 0) {
      bool asked = off.mode == Asked;
      unsigned rest = 0;
      SmallVector<unsigned, 4> parts;
      if (asked)
        rest = memory(o, off, size, w.at);
      for (unsigned k = 0; k < type->getNumElements(); k++) {
        Offset at{At, w.off.at + int64_t(k) * each};
        if (!asked) {
          if (overlaps(at, each, off, size))
            parts.push_back(lane(s->getValueOperand(), k, 0));
          continue;
        }
        Node one;
        one.op = StoreTo, one.off = at, one.c = each;
        one.file = p.file, one.line = p.line, one.name = nameOf(o.base, at.at);
        one.operands.push_back(lane(s->getValueOperand(), k, 0));
        one.operands.push_back(rest);
        one.operands.append(why.begin(), why.end());
        rest = add(one);
      }
      if (asked)
        return rest;
      if (w.off.at > off.at || w.off.at + int64_t(w.size) < off.at + int64_t(size))
        parts.push_back(memory(o, off, size, w.at));
      n.name = nameOf(o.base, off.at);
      n.operands.append(parts.begin(), parts.end());
      n.operands.append(why.begin(), why.end());
      return add(n);
    }
    what = value(s->getValueOperand());
    SmallVector<unsigned, 4> with{what};
    if (auto *def = dyn_cast<Instruction>(s->getValueOperand()))
      leave(with, def->getParent(), here);
    if (with.size() > 1) {
      Node mixed;
      mixed.operands.append(with.begin(), with.end());
      what = add(mixed);
    }
  } else if (auto *set = dyn_cast<MemSetInst>(w.at)) {
    what = value(set->getValue());
  } else if (auto *copy = dyn_cast<MemTransferInst>(w.at)) {
    auto [from, at] = baseOf(copy->getSource());
    if (!isObject(from))
      what = unknown(Copied, copy);
    else if (off.mode == At && w.off.mode == At && at.mode == At)
      what = memory(object(from), {At, off.at - w.off.at + at.at}, size, copy);
    else if (off.mode == Asked && w.off.mode == At && at.mode == At && at.at == w.off.at)
      what = memory(object(from), {Asked, 0}, 0, copy);
    else
      what = memory(object(from), {Anywhere, 0}, 0, copy);
  }
  bool covers = w.off.mode == At && off.mode == At && w.off.at <= off.at &&
                w.off.at + int64_t(w.size) >= off.at + int64_t(size);
  n.name = nameOf(o.base, off.mode == At ? off.at : w.off.mode == At ? w.off.at : 0);
  if (off.mode == Asked) {
    n.op = StoreTo;
    n.off = w.off;
    n.c = w.size;
    n.operands.push_back(what);
    n.operands.push_back(memory(o, off, size, w.at));
  } else {
    n.operands.push_back(what);
    if (!covers)
      n.operands.push_back(memory(o, off, size, w.at));
  }
  n.operands.append(why.begin(), why.end());
  return add(n);
}

} // namespace
