# SPDX-License-Identifier: Apache-2.0
#
# The fast path of accesses.c without the call, for gcc on x86-64: the assembler reads this before
# what the compiler has made, and takes `call` for the macro below. What the thread has seen goes on;
# all else makes the call, from where the site can be seen. A call may change these registers anyway.
#
# `__tsan_view` is struct uns_view (tracker/shadow.h): words 0, mask 8, bit 16, exclusive 24.

# The link-time optimiser names this file twice.
	.ifndef	uns_inline
	.set	uns_inline, 1

	.macro	uns_word
	movq	__tsan_view@gottpoff(%rip), %rax
	movq	%fs:8(%rax), %rcx
	movq	%fs:(%rax), %rdx
	andq	%rdi, %rcx
	movq	(%rdx,%rcx,2), %rcx
	.endm

	.macro	uns_read target
	uns_word
	testq	%rcx, %fs:16(%rax)
	jne	.Luns_seen\@
	callq	\target
.Luns_seen\@:
	.endm

	.macro	uns_write target
	uns_word
	cmpq	%rcx, %fs:24(%rax)
	je	.Luns_seen\@
	callq	\target
.Luns_seen\@:
	.endm

	.macro	call target:vararg
	.ifc	\target,__tsan_read8@PLT
	uns_read	\target
	.exitm
	.endif
	.ifc	\target,__tsan_read4@PLT
	uns_read	\target
	.exitm
	.endif
	.ifc	\target,__tsan_read1@PLT
	uns_read	\target
	.exitm
	.endif
	.ifc	\target,__tsan_read2@PLT
	uns_read	\target
	.exitm
	.endif
	.ifc	\target,__tsan_write8@PLT
	uns_write	\target
	.exitm
	.endif
	.ifc	\target,__tsan_write4@PLT
	uns_write	\target
	.exitm
	.endif
	.ifc	\target,__tsan_write1@PLT
	uns_write	\target
	.exitm
	.endif
	.ifc	\target,__tsan_write2@PLT
	uns_write	\target
	.exitm
	.endif
	.ifc	\target,__tsan_read8
	uns_read	\target
	.exitm
	.endif
	.ifc	\target,__tsan_read4
	uns_read	\target
	.exitm
	.endif
	.ifc	\target,__tsan_read1
	uns_read	\target
	.exitm
	.endif
	.ifc	\target,__tsan_read2
	uns_read	\target
	.exitm
	.endif
	.ifc	\target,__tsan_write8
	uns_write	\target
	.exitm
	.endif
	.ifc	\target,__tsan_write4
	uns_write	\target
	.exitm
	.endif
	.ifc	\target,__tsan_write1
	uns_write	\target
	.exitm
	.endif
	.ifc	\target,__tsan_write2
	uns_write	\target
	.exitm
	.endif
	callq	\target
	.endm
	.endif
