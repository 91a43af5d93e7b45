/*
 * What a file is that is no core we read, by its first bytes: other dumps of memory that people
 * have at hand, and cores of other machines and systems. For the message that refuses it.
 */
#ifndef CF_INPUT_SIGNATURE_H
#define CF_INPUT_SIGNATURE_H

#include <stddef.h>
#include <stdint.h>

/* "a Windows minidump (...)", static; NULL: nothing that is known. */
const char *cf_signature(const unsigned char *head, size_t len);

/* The name of an ELF machine (e_machine), static; NULL: not known. */
const char *cf_elf_machine_name(uint16_t machine);
/* The name of the system of EI_OSABI, static; NULL where that tells none. */
const char *cf_elf_system_name(unsigned char os_abi);

#endif
