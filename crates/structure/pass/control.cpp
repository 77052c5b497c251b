// Which branches decide whether a block runs.

namespace {

// Control dependence (Ferrante, Ottenstein and Warren, 1987) among the blocks from which the function comes back: an error
// check, one way of which ends the program, decides nothing.
class Control {
public:
  // With a loop, what decides within one of its iterations: going on with the next one, or out, is an end.
  Control(Function &f, DominatorTree &dt, const Control *whole = nullptr, const Loop *l = nullptr) {
    std::vector<BasicBlock *> ends;
    auto isIn = [&](const BasicBlock *b) {
      return dt.isReachableFromEntry(b) && (!whole || whole->comesBack(b)) && (!l || l->contains(b));
    };
    auto goesOn = [&](const BasicBlock *to) { return !l || (l->contains(to) && to != l->getHeader()); };
    auto isEnd = [&](BasicBlock &b) {
      return l ? any_of(successors(&b), [&](auto *s) { return !goesOn(s) && whole->comesBack(s); })
               : isa<ReturnInst>(b.getTerminator());
    };
    for (auto &b : f)
      if (isIn(&b) && isEnd(b))
        ends.push_back(&b);
    // A function that never returns ends the program at its end.
    if (ends.empty() && !l)
      for (auto &b : f)
        if (dt.isReachableFromEntry(&b) && succ_empty(&b))
          ends.push_back(&b);
    // The reverse graph in post order; the last number is the exit.
    std::vector<std::pair<BasicBlock *, pred_iterator>> open;
    auto enter = [&](BasicBlock *b) {
      if (isIn(b) && number.try_emplace(b, 0).second)
        open.push_back({b, pred_begin(b)});
    };
    for (auto *end : ends) {
      enter(end);
      while (!open.empty()) {
        auto &[b, next] = open.back();
        if (next != pred_end(b) && goesOn(b)) {
          enter(*next++);
          continue;
        }
        number[b] = order.size();
        order.push_back(b);
        open.pop_back();
      }
    }
    unsigned exit = order.size();
    above.assign(exit + 1, exit + 1);
    above[exit] = exit;
    auto meet = [&](unsigned a, unsigned b) {
      while (a != b)
        if (a < b)
          a = above[a];
        else
          b = above[b];
      return a;
    };
    SmallPtrSet<BasicBlock *, 4> last(ends.begin(), ends.end());
    for (bool changed = true; changed;) {
      changed = false;
      for (unsigned n = exit; n-- > 0;) {
        unsigned to = last.count(order[n]) ? exit : exit + 1;
        for (auto *s : successors(order[n])) {
          auto known = number.find(s);
          if (known == number.end() || !goesOn(s) || above[known->second] > exit)
            continue;
          to = to > exit ? known->second : meet(to, known->second);
        }
        changed |= to != above[n];
        above[n] = to;
      }
    }
    for (unsigned n = 0; n < exit; n++) {
      if (!(whole ? whole : this)->decides(order[n]))
        continue;
      for (auto *s : successors(order[n])) {
        auto known = number.find(s);
        if (known == number.end() || !goesOn(s))
          continue;
        for (unsigned at = known->second; at < exit && at != above[n]; at = above[at])
          if (auto &on = dependent[order[at]]; !is_contained(on, order[n]))
            on.push_back(order[n]);
      }
    }
  }
  bool comesBack(const BasicBlock *b) const { return number.count(b); }
  // Whether a block ends in a choice between ways that come back.
  bool decides(const BasicBlock *b) const {
    if (!isa<BranchInst>(b->getTerminator()) && !isa<SwitchInst>(b->getTerminator()))
      return false;
    SmallPtrSet<const BasicBlock *, 4> ways;
    for (auto *s : successors(b))
      if (comesBack(s) || !comesBack(b))
        ways.insert(s);
    return ways.size() > 1;
  }
  // The blocks whose choices decide whether a block is reached, without those that decide whether these are.
  ArrayRef<BasicBlock *> of(const BasicBlock *b) const {
    auto known = dependent.find(b);
    return known == dependent.end() ? ArrayRef<BasicBlock *>() : ArrayRef<BasicBlock *>(known->second);
  }

private:
  DenseMap<const BasicBlock *, unsigned> number;
  std::vector<BasicBlock *> order;
  std::vector<unsigned> above; // the next one that all ways to the exit pass
  DenseMap<const BasicBlock *, SmallVector<BasicBlock *, 2>> dependent;
};

} // namespace
