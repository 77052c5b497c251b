// The plugin: where the record goes, and when the pass runs.

namespace {

// FNV-1a.
uint32_t checksum(StringRef bytes) {
  uint32_t h = 0x811c9dc5;
  for (unsigned char c : bytes)
    h = (h ^ c) * 0x01000193;
  return h;
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
    static const char digits[] = "01234567";
    text.reserve(3 * record.size() + 128);
    for (size_t at = 0; at < record.size(); at += 4096) {
      text += ".ascii \"";
      for (unsigned char c : StringRef(record).substr(at, 4096)) {
        if (c >= ' ' && c < 127 && c != '"' && c != '\\') {
          text += char(c);
          continue;
        }
        text += '\\';
        text += digits[c >> 6], text += digits[(c >> 3) & 7], text += digits[c & 7];
      }
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
