// Counts that can be told by hand: a repeated string instruction is one, whatever its count.
.globl _start
.bss
buffer: .zero 64
.text
_start:
    // 3 x 3 instructions
    mov $0, %ecx
    lea buffer(%rip), %rdi
    rep stosb
    mov $1, %ecx
    lea buffer(%rip), %rdi
    rep stosb
    mov $50, %ecx
    lea buffer(%rip), %rdi
    rep stosb
    // 1 + 1000 x 2
    mov $1000, %ecx
1:  dec %ecx
    jnz 1b
    // 100
    .rept 100
    nop
    .endr
    // 3
    xor %edi, %edi
    mov $60, %eax
    syscall
