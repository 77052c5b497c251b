// What is in memory at a place: who wrote it last.

namespace {

bool overlaps(Offset a, uint64_t as, Offset b, uint64_t bs) {
  if (a.mode != At || b.mode != At)
    return true;
  return a.at < b.at + int64_t(bs ? bs : 1) && b.at < a.at + int64_t(as ? as : 1);
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
  // Several neighbours that are read as one number.
  if (l->getType()->isIntegerTy() && size >= 8 && off.mode == At)
    for (auto &block : object(base).writers)
      for (auto &w : block.second)
        if (isa<StoreInst>(w.at) && w.off.mode == At && w.size < size && overlaps(w.off, w.size, off, size))
          return unknown(Copied, l);
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

// Whether one instruction may run before another one. Many questions are about the same blocks, so each block's answer is
// found once.
bool OfFunction::mayReach(Instruction *a, Instruction *b) {
  BasicBlock *from = a->getParent(), *to = b->getParent();
  if (from == to && (a == b || a->comesBefore(b)))
    return true;
  // The size of the function itself would be counted block by block.
  if (blockNumbers.size() > MostBlocks)
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

// What is in an object at an offset before an instruction; everybody who may have written it last.
unsigned OfFunction::memory(Object &o, Offset off, uint64_t size, Instruction *before) {
  // What the program is given stays what it is given, whoever has its address.
  if (isa<Argument>(o.base) && f.getName() == "main")
    return atEntry(o, off);
  if (o.escapes && !isa<GlobalVariable>(o.base))
    return unknown(Escapes, before);
  auto key = std::make_tuple(o.base, off, size, before);
  auto known = states.find(key);
  if (known != states.end())
    return known->second;
  unsigned id = states[key] = add(Node());
  Object *object = &o;
  pending.emplace_back(id, [this, id, object, off, size, before] {
    Object &o = *object;
    // What a function writes is not known here, but what a copy does is: else each copy of an object to itself would lead to
    // a byte farther on.
    auto concerns = [&](const Object::Writer &w) {
      bool other = isa<CallBase>(w.at) && !isa<MemIntrinsic>(w.at);
      return w.barrier || other || overlaps(w.off, w.size, off, size);
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
    give(id, found);
  });
  return id;
}

// One element of a vector: optimisation stores neighbours that have nothing in common at once.
unsigned OfFunction::lane(Value *v, unsigned k, int depth) {
  if (isa<Constant>(v))
    return 0;
  auto known = lanes.find({v, k});
  if (known != lanes.end())
    return known->second;
  unsigned found = findLane(v, k, depth);
  return lanes[{v, k}] = found;
}

unsigned OfFunction::findLane(Value *v, unsigned k, int depth) {
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
      return either(lane(op->getOperand(0), k, depth + 1), lane(op->getOperand(1), k, depth + 1));
    auto *load = dyn_cast<LoadInst>(v);
    auto [base, at] = load ? baseOf(load->getPointerOperand()) : std::pair<Value *, Offset>(nullptr, {Anywhere, 0});
    if (base && isObject(base) && at.mode == At) {
      uint64_t size = dl.getTypeStoreSize(v->getType()->getScalarType()).getKnownMinValue();
      return memory(object(base), {At, at.at + int64_t(k * size)}, size, load);
    }
  }
  return either(value(v), unknown(Other, dyn_cast<Instruction>(v)));
}

unsigned OfFunction::either(unsigned a, unsigned b) {
  Node n;
  n.operands.push_back(a);
  n.operands.push_back(b);
  return add(n);
}

// Whether a number that is stored may be several that stood beside each other elsewhere: what is computed is one.
bool isCopied(const Value *v) {
  bool wide = v->getType()->isIntegerTy() && v->getType()->getIntegerBitWidth() >= 64;
  return wide && !isa<Constant>(v) && !isa<CastInst>(v) && !isa<BinaryOperator>(v);
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
  // A vector is stored as it is made, maybe in a loop before.
  if (auto *s = dyn_cast<StoreInst>(w.at); s && isa<FixedVectorType>(s->getValueOperand()->getType()))
    if (auto *def = dyn_cast<Instruction>(s->getValueOperand()))
      leave(why, def->getParent(), here);
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
          bool within = off.mode == At && off.at > at.at && type->getElementType()->isIntegerTy();
          if (overlaps(at, each, off, size))
            parts.push_back(within ? unknown(Copied, s) : lane(s->getValueOperand(), k, 0));
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
    // One number may have been several neighbours: behind its first bytes there may be another one.
    if (isCopied(s->getValueOperand()) && off.mode == At && w.off.mode == At && off.at > w.off.at) {
      auto *load = dyn_cast<LoadInst>(s->getValueOperand());
      auto [from, at] = load ? baseOf(load->getPointerOperand()) : std::pair<Value *, Offset>(nullptr, {Anywhere, 0});
      if (from && isObject(from) && at.mode == At)
        what = memory(object(from), {At, at.at + off.at - w.off.at}, size, load);
      else
        what = unknown(Copied, s);
    }
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
  } else {
    what = unknown(Other, w.at);
  }
  bool covers = w.off.mode == At && off.mode == At && w.off.at <= off.at &&
                w.off.at + int64_t(w.size) >= off.at + int64_t(size);
  n.name = nameOf(o.base, off.mode == At ? off.at : w.off.mode == At ? w.off.at : 0);
  if (off.mode == Asked) {
    n.op = StoreTo;
    n.off = w.off;
    n.c = w.size;
    unsigned rest = memory(o, off, size, w.at);
    auto *s = dyn_cast<StoreInst>(w.at);
    if (s && w.off.mode == At && isCopied(s->getValueOperand())) {
      constexpr int64_t first = 4;
      Node behind = n;
      behind.off.at += first, behind.c = w.size - first;
      behind.operands.push_back(unknown(Copied, s));
      behind.operands.push_back(rest);
      behind.operands.append(why.begin(), why.end());
      rest = add(behind);
      n.c = first;
    }
    n.operands.push_back(what);
    n.operands.push_back(rest);
  } else {
    n.operands.push_back(what);
    if (!covers)
      n.operands.push_back(memory(o, off, size, w.at));
  }
  n.operands.append(why.begin(), why.end());
  return add(n);
}

} // namespace
