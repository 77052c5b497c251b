// The plugin: where the record goes, and when the pass runs.

namespace {

// FNV-1a.
uint32_t checksum(StringRef bytes) {
  uint32_t h = 0x811c9dc5;
  for (unsigned char c : bytes)
    h = (h ^ c) * 0x01000193;
  return h;
}

// Appends bytes as an assembler reads them in a string. A byte that is no text becomes an octal number; if no digit follows,
// it needs no zeros in front.
void appendEscaped(std::string &text, StringRef bytes) {
  for (size_t i = 0; i < bytes.size(); i++) {
    unsigned char c = bytes[i];
    if (c >= ' ' && c < 127 && c != '"' && c != '\\') {
      text += char(c);
      continue;
    }
    char next = i + 1 < bytes.size() ? bytes[i + 1] : 0;
    bool all = next >= '0' && next <= '9';
    char digits[] = {char('0' + (c >> 6)), char('0' + ((c >> 3) & 7)), char('0' + (c & 7))};
    unsigned skipped = all || c >= 64 ? 0 : c >= 8 ? 1 : 2;
    text += '\\';
    text.append(digits + skipped, 3 - skipped);
  }
}

struct HeadwaterPass : PassInfoMixin<HeadwaterPass> {
  PreservedAnalyses run(Module &m, ModuleAnalysisManager &mam) {
    // What runs on the host of the formats that the reader knows; a device's module is left as it is.
    Triple triple(m.getTargetTriple());
    bool x86 = triple.getArch() == Triple::x86_64, arm = triple.getArch() == Triple::aarch64;
    if (!triple.isOSBinFormatELF() || !(x86 || arm))
      return PreservedAnalyses::all();
    auto &fam = mam.getResult<FunctionAnalysisManagerModuleProxy>(m).getManager();
    std::string payload = OfModule(m, fam).record();
    std::string record = "HWPS";
    auto word = [&](uint32_t w) {
      for (int i = 0; i < 4; i++)
        record.push_back(char(w >> (8 * i)));
    };
    word(Version);
    word(uint32_t(payload.size()));
    word(checksum(payload));
    record += payload;
    std::string text = ".pushsection .headwater.psg,\"\",@progbits\n";
    text.reserve(3 * record.size() + 128);
    for (size_t at = 0; at < record.size(); at += 4096) {
      text += ".ascii \"";
      appendEscaped(text, StringRef(record).substr(at, 4096));
      text += "\"\n";
    }
    text += ".popsection";
    // flang 19 reads no assembly, if nobody asks for it.
#define LLVM_ASM_PARSER(Target)                                                                                        \
  if (StringRef(#Target) == (x86 ? "X86" : "AArch64"))                                                                 \
    LLVMInitialize##Target##AsmParser();
#include "llvm/Config/AsmParsers.def"
    m.appendModuleInlineAsm(text);
    return PreservedAnalyses::all();
  }
  static bool isRequired() { return true; }
};

} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "headwater", "1", [](PassBuilder &pb) {
#if LLVM_VERSION_MAJOR >= 20
            pb.registerOptimizerLastEPCallback(
                [](ModulePassManager &pm, OptimizationLevel, ThinOrFullLTOPhase) { pm.addPass(HeadwaterPass()); });
#else
            pb.registerOptimizerLastEPCallback(
                [](ModulePassManager &pm, OptimizationLevel) { pm.addPass(HeadwaterPass()); });
#endif
          }};
}
