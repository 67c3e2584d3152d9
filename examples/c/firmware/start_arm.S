/* QEMU's mps2-an386 (Cortex-M4F): the vectors, and start-up. The linker script is examples/firmware/link/arm.ld. */
    .syntax unified
    .cpu cortex-m4
    .thumb

    .section .vectors, "a"
    .word weir_stack
    .word weir_start
    .rept 14
    .word lost
    .endr

    .text
    .thumb_func
    .global weir_start
weir_start:
    ldr r0, =0xe000ed88         /* Floating point on: the compiler may use its registers. */
    ldr r1, [r0]
    orr r1, r1, #0xf00000
    str r1, [r0]
    dsb
    isb
    ldr r0, =weir_data
    ldr r1, =weir_data_end
    ldr r2, =weir_data_from
1:  cmp r0, r1
    bhs 2f
    ldr r3, [r2], #4
    str r3, [r0], #4
    b 1b
2:  ldr r0, =weir_bss
    ldr r1, =weir_bss_end
    movs r3, #0
3:  cmp r0, r1
    bhs 4f
    str r3, [r0], #4
    b 3b
4:  bl main
    b leave                     /* main's answer is the status. */

    .thumb_func
lost:
    movs r0, #102

    /* leave(status): semihosting's SYS_EXIT_EXTENDED. */
    .thumb_func
    .global leave
leave:
    ldr r1, =0x20026
    push {r1, r2}
    str r0, [sp, #4]
    mov r1, sp
    movs r0, #0x20
    bkpt #0xab
5:  b 5b
    .ltorg

    .section .note.GNU-stack, "", %progbits
