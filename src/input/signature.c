/*
 * First bytes of what people take for a core, with what it is and which tool reads it, and the
 * machines and systems of ELF by name.
 */
#include "input/signature.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

static const struct {
    const char *bytes;
    size_t len;
    const char *what;
} signatures[] = {
    {"MDMP", 4, "a minidump, as Windows, Breakpad and Crashpad write it; it has no heap in it"},
    {"PAGEDU64", 8, "a memory dump of the Windows kernel"},
    {"PAGEDUMP", 8, "a memory dump of the Windows kernel"},
    {"MZ", 2, "a Windows program or library"},
    {"\xfe\xed\xfa\xce", 4, "a Mach-O file (macOS); cores of Linux are read"},
    {"\xfe\xed\xfa\xcf", 4, "a Mach-O file (macOS); cores of Linux are read"},
    {"\xce\xfa\xed\xfe", 4, "a Mach-O file (macOS); cores of Linux are read"},
    {"\xcf\xfa\xed\xfe", 4, "a Mach-O file (macOS); cores of Linux are read"},
    {"KDUMP   ", 8, "a dump of the kernel (kdump, makedumpfile); the crash tool reads it"},
    {"DISKDUMP", 8, "a dump of the kernel (diskdump); the crash tool reads it"},
    {"makedumpfile", 12, "a dump of the kernel (makedumpfile, flattened); the crash tool reads it"},
    {"EMiL", 4, "a dump of a machine's memory by LiME; tools for kernel memory read it"},
    {"\x19\x43\x56\x54", 4, "an image of CRIU; crit core-dump makes cores of a folder of them"},
    {"\x40\x59\x10\x55", 4, "an image of CRIU; crit core-dump makes cores of a folder of them"},
    {"JAVA PROFILE", 12, "a Java heap dump (hprof); it has only what the collector manages"},
    {"SQLite format 3", 16, "a database; `corefrag report` reads those of corefrag"},
};

/* gdb writes the header when all else is written. */
static bool is_blank(const unsigned char *head, size_t len) {
    enum { HEADER = 64 };
    return len >= HEADER && head[0] == 0 && memcmp(head, head + 1, HEADER - 1) == 0;
}

const char *cf_signature(const unsigned char *head, size_t len) {
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++) {
        if (len >= signatures[i].len &&
            memcmp(head, signatures[i].bytes, signatures[i].len) == 0)
            return signatures[i].what;
    }
    if (is_blank(head, len))
        return "a file whose header is zeros: gcore was interrupted, which writes its header last, "
               "or the file was never filled";
    return NULL;
}

const char *cf_elf_machine_name(uint16_t machine) {
    static const struct {
        uint16_t machine;
        const char *name;
    } machines[] = {
        {EM_386, "i386"},
        {EM_X86_64, "x86_64"},
        {EM_AARCH64, "aarch64"},
        {EM_ARM, "32-bit ARM"},
        {EM_PPC, "32-bit PowerPC"},
        {EM_PPC64, "64-bit PowerPC"},
        {EM_S390, "s390x (IBM Z)"},
        {EM_RISCV, "RISC-V"},
        {EM_MIPS, "MIPS"},
        {EM_LOONGARCH, "LoongArch"},
        {EM_SPARC, "SPARC"},
        {EM_SPARC32PLUS, "SPARC"},
        {EM_SPARCV9, "64-bit SPARC"},
        {EM_IA_64, "Itanium"},
        {EM_ALPHA, "Alpha"},
        {0x9026, "Alpha"},
        {EM_PARISC, "PA-RISC"},
        {EM_SH, "SuperH"},
        {EM_68K, "m68k"},
        {EM_ARC_COMPACT, "ARC"},
        {EM_ARCV2, "ARC"},
        {EM_CSKY, "C-SKY"},
        {EM_XTENSA, "Xtensa"},
        {EM_MICROBLAZE, "MicroBlaze"},
        {EM_QDSP6, "Hexagon"},
        {EM_TILEGX, "TILE-Gx"},
        {EM_OPENRISC, "OpenRISC"},
    };
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        if (machines[i].machine == machine)
            return machines[i].name;
    }
    return NULL;
}

const char *cf_elf_system_name(unsigned char os_abi) {
    switch (os_abi) {
    case ELFOSABI_NETBSD:
        return "NetBSD";
    case ELFOSABI_FREEBSD:
        return "FreeBSD";
    case ELFOSABI_OPENBSD:
        return "OpenBSD";
    case ELFOSABI_SOLARIS:
        return "Solaris";
    default:
        return NULL;
    }
}
